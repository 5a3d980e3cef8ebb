package fleet

import (
	"net/url"
	"strconv"
	"strings"
)

// CI is what the CI systems tell.
type CI struct {
	Pipelines []Pipeline `json:"pipelines"` // those that have not ended, and the newest ended ones of each branch
	Workers   []Worker   `json:"workers"`
}

// PipelineName is the stable name of a pipeline: SYSTEM/PROJECT#12.
func PipelineName(system, project string, number int64) string {
	return system + "/" + project + "#" + strconv.FormatInt(number, 10)
}

// Pipeline is one pipeline, or one run of a workflow. Ages are told by the CI's clock.
type Pipeline struct {
	Name     string         `json:"name"`   // PipelineName
	System   string         `json:"system"` // [ci.NAME]
	Project  string         `json:"project"`
	ID       int64          `json:"id"`     // what its CI asks for it by
	Number   int64          `json:"number"` // what people call it
	URL      string         `json:"url"`
	Owner    Owner          `json:"owner"`
	Title    string         `json:"title,omitempty"`    // of the workflow or the commit: somebody's words
	Workflow string         `json:"workflow,omitempty"` // its file or name; empty where a pipeline is all workflows
	Event    string         `json:"event"`              // push, pull_request, …
	Branch   string         `json:"branch"`
	Head     string         `json:"head"`              // commit
	Pull     int            `json:"pull,omitempty"`    // number of its pull request
	Primary  bool           `json:"primary,omitempty"` // it ran on the primary branch
	Newest   bool           `json:"newest,omitempty"`  // of its workflow and branch
	State    Leaf[string]   `json:"state"`             // pending, running, success, failure, cancelled, blocked
	Pending  Leaf[Duration] `json:"pending"`           // how long it has waited to begin; 0 when it began or ended
	Running  Leaf[Duration] `json:"running"`           // how long it has run; 0 when it does not run
	Ended    Leaf[Duration] `json:"ended"`             // time since it ended; 0 while it has not
	Attempt  int            `json:"attempt"`           // from 1
	Infra    Leaf[bool]     `json:"infra"`             // it failed within a day for a cause outside the code
	Cause    string         `json:"cause,omitempty"`   // which, and what told it; secrets redacted
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
// of: whoever acts on it asks anew, and may be shown another by its number.
func (p Pipeline) Repeats(workflow, branch, head string) bool {
	return p.Workflow == PipelineText(workflow) && p.Branch == PipelineText(branch) && p.Head == PipelineText(head)
}

// PipelineText makes what somebody wrote in a CI safe to show, on one line.
func PipelineText(s string) string { return Line(Redact(Text(s[:min(len(s), 4<<10)])), 200) }

// Worker is one agent or runner of a CI system.
type Worker struct {
	Name      string         `json:"name"` // SYSTEM/NAME
	System    string         `json:"system"`
	Owner     Owner          `json:"owner"`
	Healthy   Leaf[bool]     `json:"healthy"`
	Why       string         `json:"why,omitempty"`       // it is not
	Contact   Leaf[Duration] `json:"contact"`             // since it last spoke to its server
	Container string         `json:"container,omitempty"` // the container it runs in, as custos.toml says
}
