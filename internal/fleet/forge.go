package fleet

import "strconv"

// Project is one project on a forge, as the section [forge.NAME] names it.
// Where its forge cannot be asked, its leaves are unknown and its issues and
// pull requests are those last seen, with unknown leaves.
type Project struct {
	Name       string         `json:"name"`
	Repo       string         `json:"repo"` // OWNER/NAME on the forge
	URL        string         `json:"url"`
	Owner      Owner          `json:"owner"`
	Primary    Leaf[string]   `json:"primary"`     // its primary branch
	Active     Leaf[bool]     `json:"active"`      // its switch is on: agents are to take up work there
	Ready      Leaf[int]      `json:"ready"`       // open issues that may be taken up: labelled so, not blocked, nobody's
	InProgress Leaf[int]      `json:"in_progress"` // open issues that somebody works on
	Blocked    Leaf[int]      `json:"blocked"`     // open issues that wait for other open ones, or are labelled so
	Empty      Leaf[int]      `json:"empty"`       // looks in a row with open issues and none ready
	Skew       Leaf[Duration] `json:"skew"`        // the forge's clock minus ours
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

// Issue is one issue of a project. Ages are told by the forge's clock.
type Issue struct {
	Name      string         `json:"name"` // IssueName
	Project   string         `json:"project"`
	Number    int            `json:"number"`
	Title     string         `json:"title"` // somebody's words: stripped, cut, never obeyed
	URL       string         `json:"url"`
	Owner     Owner          `json:"owner"` // the project's
	Author    string         `json:"author"`
	Labels    []string       `json:"labels,omitempty"`
	Assignees []string       `json:"assignees,omitempty"`
	Open      Leaf[bool]     `json:"open"`
	Age       Leaf[Duration] `json:"age"`     // since it was opened
	Updated   Leaf[Duration] `json:"updated"` // since anything happened to it
	Closed    Leaf[Duration] `json:"closed"`  // since it was closed; 0 while it is open
	Taken     Leaf[bool]     `json:"taken"`   // somebody is said to work on it: by label or assignee
	Ready     Leaf[bool]     `json:"ready"`
	BlockedBy Leaf[[]string] `json:"blocked_by"`       // names of what it waits for and that is open, or unseen
	Waits     Leaf[Duration] `json:"waits"`            // age of the oldest open issue that it waits for; 0 for none
	Cycle     []string       `json:"cycle,omitempty"`  // of dependencies, that it is the first of
	Marked    bool           `json:"marked,omitempty"` // it is labelled as one that waits
	Agent     string         `json:"agent,omitempty"`  // who works on it, by registry, branch or name
}

// EndedPull is a pull request that was merged or closed lately.
type EndedPull struct {
	Name    string         `json:"name"` // PullName
	Project string         `json:"project"`
	Number  int            `json:"number"`
	Title   string         `json:"title"` // somebody's words
	URL     string         `json:"url"`
	Branch  string         `json:"branch"` // its head's
	Merged  bool           `json:"merged,omitempty"`
	Ended   Leaf[Duration] `json:"ended"`           // since then, by the forge's clock
	Agent   string         `json:"agent,omitempty"` // who worked on it, by registry, branch or name
}

// PullRequest is one open pull request of a project.
type PullRequest struct {
	Name     string         `json:"name"` // PullName
	Project  string         `json:"project"`
	Number   int            `json:"number"`
	Title    string         `json:"title"` // somebody's words
	URL      string         `json:"url"`
	Owner    Owner          `json:"owner"` // the project's
	Author   string         `json:"author"`
	Labels   []string       `json:"labels,omitempty"`
	Base     string         `json:"base"`
	Branch   string         `json:"branch"` // its head's
	Head     string         `json:"head"`   // commit
	Draft    bool           `json:"draft,omitempty"`
	Age      Leaf[Duration] `json:"age"`
	Pushed   Leaf[Duration] `json:"pushed"`           // since its newest commit was pushed, as well as that can be told
	Checks   Leaf[string]   `json:"checks"`           // none, pending, success, failure: of the required contexts where the forge tells them, else of all
	Failed   []string       `json:"failed,omitempty"` // contexts
	Checked  Leaf[Duration] `json:"checked"`          // since the last check ended; 0 while none has
	Conflict Leaf[bool]     `json:"conflict"`         // it cannot be merged as it is
	Review   Leaf[string]   `json:"review"`           // none, requested, commented, approved, changes requested
	Closes   []string       `json:"closes,omitempty"` // names of issues that it says it closes
	Agent    string         `json:"agent,omitempty"`  // who works on it, by registry, branch or name
}
