package fleet

import (
	"net/url"
	"strconv"
	"strings"
)

// CI is what the CI systems report.
type CI struct {
	Pipelines []Pipeline `json:"pipelines"` // those that have not ended, and the newest ended ones of each branch
	Workers   []Worker   `json:"workers"`
}

// PipelineName is the stable name of a pipeline: SYSTEM/PROJECT#12.
func PipelineName(system, project string, number int64) string {
	return system + "/" + project + "#" + strconv.FormatInt(number, 10)
}

// Pipeline is one pipeline, or one run of a workflow. Ages are by the CI's clock.
type Pipeline struct {
	Name     string         `json:"name" help:"SYSTEM/PROJECT#NUMBER"`
	System   string         `json:"system" help:"of its section [ci.NAME]"`
	Project  string         `json:"project" help:"its project"`
	ID       int64          `json:"id" help:"what its CI asks for it by"`
	Number   int64          `json:"number" help:"in its project"`
	URL      string         `json:"url" help:"where it is"`
	Owner    Owner          `json:"owner" help:"configured or foreign"`
	Title    string         `json:"title,omitempty" help:"of the workflow or the commit: untrusted text"`
	Workflow string         `json:"workflow,omitempty" help:"its file or name; empty where a pipeline is all workflows"`
	Event    string         `json:"event" help:"push, pull_request, …"`
	Branch   string         `json:"branch" help:"on which it runs"`
	Head     string         `json:"head" help:"the commit"`
	Pull     int            `json:"pull,omitempty" help:"number of its pull request; 0 for none"`
	Primary  bool           `json:"primary,omitempty" help:"whether it runs on the primary branch"`
	Newest   bool           `json:"newest,omitempty" help:"whether it is the newest of its workflow and branch"`
	State    Leaf[string]   `json:"state" help:"pending, running, success, failure, cancelled or blocked"`
	Pending  Leaf[Duration] `json:"pending" help:"how long it has waited to begin; 0s when it began or ended"`
	Running  Leaf[Duration] `json:"running" help:"how long it has run; 0s when it does not"`
	Ended    Leaf[Duration] `json:"ended" help:"time since it ended; 0s while it has not"`
	Attempt  int            `json:"attempt" help:"which attempt, from 1"`
	Infra    Leaf[bool]     `json:"infra" help:"whether it failed within a day for a cause outside the code"`
	Cause    string         `json:"cause,omitempty" help:"that cause, and where it was seen; secrets redacted"`
}

// Run names what running it again repeats: its workflow on its branch, at its
// commit. Each repetition of it has the same one, whatever number it has.
func (p Pipeline) Run() Subject {
	name := []string{p.System, p.Project, p.Workflow, p.Branch, p.Head}
	for i := range name {
		name[i] = url.PathEscape(name[i])
	}
	return Subject{Kind: KindPipeline, Name: strings.Join(name, "/")}
}

// Repeats says whether a CI's words, as it writes them, name what this pipeline is a run
// of: an action asks anew, and may be shown another by its number.
func (p Pipeline) Repeats(workflow, branch, head string) bool {
	return p.Workflow == PipelineText(workflow) && p.Branch == PipelineText(branch) && p.Head == PipelineText(head)
}

// PipelineText makes what was written in a CI safe to show, on one line.
func PipelineText(s string) string { return Line(Redact(Text(s[:min(len(s), 4<<10)])), 200) }

// Worker is one agent or runner of a CI system.
type Worker struct {
	Name      string         `json:"name" help:"SYSTEM/NAME"`
	System    string         `json:"system" help:"of its section [ci.NAME]"`
	Owner     Owner          `json:"owner" help:"configured or foreign"`
	Healthy   Leaf[bool]     `json:"healthy" help:"whether it works"`
	Why       string         `json:"why,omitempty" help:"why it does not"`
	Contact   Leaf[Duration] `json:"contact" help:"time since it last spoke to its server"`
	Container string         `json:"container,omitempty" help:"the container it runs in, as custos.toml says"`
}
