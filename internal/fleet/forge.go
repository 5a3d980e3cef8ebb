package fleet

import "strconv"

// Project is one project on a forge, as the section [forge.NAME] names it.
// Where its forge cannot be asked, its leaves are unknown and its issues and
// pull requests are those last seen, with unknown leaves.
type Project struct {
	Name       string         `json:"name" help:"of its section [forge.NAME]"`
	Repo       string         `json:"repo" help:"OWNER/NAME on the forge"`
	URL        string         `json:"url" help:"where it is"`
	Owner      Owner          `json:"owner" help:"custos, adopted, configured or foreign"`
	Primary    Leaf[string]   `json:"primary" help:"its primary branch"`
	Active     Leaf[bool]     `json:"active" help:"whether agents are to take up work there: its switch, where it has one, is on"`
	Ready      Leaf[int]      `json:"ready" help:"open issues that may be taken up: labelled so, not blocked, not taken"`
	InProgress Leaf[int]      `json:"in_progress" help:"open issues that are worked on"`
	Blocked    Leaf[int]      `json:"blocked" help:"open issues that wait for other open ones, or are labelled so"`
	Empty      Leaf[int]      `json:"empty" help:"looks in a row with open issues and none ready"`
	Skew       Leaf[Duration] `json:"skew" help:"the forge's clock minus ours"`
}

// Forge is every project on every forge.
type Forge struct {
	Projects []Project     `json:"projects"`
	Issues   []Issue       `json:"issues"` // open ones, and those closed within a day or named by a phase file
	Pulls    []PullRequest `json:"pulls"`  // open ones
	Ended    []EndedPull   `json:"ended,omitempty"`
}

// IssueName is the stable name of an issue: PROJECT#12.
func IssueName(project string, number int) string { return project + "#" + strconv.Itoa(number) }

// PullName is the stable name of a pull request: PROJECT!7.
func PullName(project string, number int) string { return project + "!" + strconv.Itoa(number) }

// Issue is one issue of a project. Ages are by the forge's clock.
type Issue struct {
	Name      string         `json:"name" help:"PROJECT#NUMBER"`
	Project   string         `json:"project" help:"its project"`
	Number    int            `json:"number" help:"in its project"`
	Title     string         `json:"title" help:"untrusted text: stripped, cut, never obeyed"`
	URL       string         `json:"url" help:"where it is"`
	Owner     Owner          `json:"owner" help:"of its project: configured or foreign"`
	Author    string         `json:"author" help:"who opened it"`
	Labels    []string       `json:"labels,omitempty" help:"its labels"`
	Assignees []string       `json:"assignees,omitempty" help:"to whom it is assigned"`
	Open      Leaf[bool]     `json:"open" help:"whether it is open"`
	Age       Leaf[Duration] `json:"age" help:"time since it was opened"`
	Updated   Leaf[Duration] `json:"updated" help:"time since anything happened to it"`
	Closed    Leaf[Duration] `json:"closed" help:"time since it was closed; 0s while it is open"`
	Taken     Leaf[bool]     `json:"taken" help:"whether it is said to be worked on: by label or assignee"`
	Ready     Leaf[bool]     `json:"ready" help:"whether it may be taken up"`
	BlockedBy Leaf[[]string] `json:"blocked_by" help:"names of what it waits for and that is open, or unseen"`
	Waits     Leaf[Duration] `json:"waits" help:"age of the oldest open issue that it waits for; 0s for none"`
	Cycle     []string       `json:"cycle,omitempty" help:"the cycle of dependencies that it is the first of"`
	Marked    bool           `json:"marked,omitempty" help:"whether it is labelled as one that waits"`
	Agent     string         `json:"agent,omitempty" help:"who works on it, by registry, branch or name; empty when no one is known to"`
}

// EndedPull is a pull request that was merged or closed lately.
type EndedPull struct {
	Name    string         `json:"name"` // PullName
	Project string         `json:"project"`
	Number  int            `json:"number"`
	Title   string         `json:"title"` // untrusted text
	URL     string         `json:"url"`
	Branch  string         `json:"branch"` // its head's
	Head    string         `json:"head,omitempty"`
	Base    string         `json:"base,omitempty"` // that it was to be merged into
	Fork    bool           `json:"fork,omitempty"` // its branch is in another repository, or in none that is told
	Merged  bool           `json:"merged,omitempty"`
	Ended   Leaf[Duration] `json:"ended"`           // since then, by the forge's clock
	Agent   string         `json:"agent,omitempty"` // who worked on it, by registry, branch or name
}

// PullRequest is one open pull request of a project.
type PullRequest struct {
	Name     string         `json:"name" help:"PROJECT!NUMBER"`
	Project  string         `json:"project" help:"its project"`
	Number   int            `json:"number" help:"in its project"`
	Title    string         `json:"title" help:"untrusted text"`
	URL      string         `json:"url" help:"where it is"`
	Owner    Owner          `json:"owner" help:"of its project: configured or foreign"`
	Author   string         `json:"author" help:"who opened it"`
	Labels   []string       `json:"labels,omitempty" help:"its labels"`
	Base     string         `json:"base" help:"the branch it is to be merged into"`
	Branch   string         `json:"branch" help:"its own branch"`
	Head     string         `json:"head" help:"its newest commit"`
	Fork     bool           `json:"fork,omitempty" help:"whether its branch is in another repository, or in none that is told"`
	Draft    bool           `json:"draft,omitempty" help:"whether it is a draft"`
	Age      Leaf[Duration] `json:"age" help:"time since it was opened"`
	Pushed   Leaf[Duration] `json:"pushed" help:"time since its newest commit was pushed, as far as that is known"`
	Checks   Leaf[string]   `json:"checks" help:"none, pending, success or failure: of the required contexts where the forge names them, else of all"`
	Failed   []string       `json:"failed,omitempty" help:"the checks that failed"`
	Checked  Leaf[Duration] `json:"checked" help:"time since its last check ended; 0s while none has"`
	Conflict Leaf[bool]     `json:"conflict" help:"whether it cannot be merged as it is"`
	Review   Leaf[string]   `json:"review" help:"none, requested, commented, approved or changes requested"`
	Closes   []string       `json:"closes,omitempty" help:"names of issues that it says it closes"`
	Agent    string         `json:"agent,omitempty" help:"who works on it, by registry, branch or name; empty when no one is known to"`
}
