package fleet

// Review is work that is to read a branch which waits in a merge queue, as it is at one commit, and
// to say what is wrong with it.
type Review struct {
	Item     string          `json:"item"` // of the queue
	Commit   string          `json:"commit"`
	Queue    string          `json:"queue,omitempty"`
	Source   string          `json:"source,omitempty"`  // the branch
	Author   string          `json:"author,omitempty"`  // agent that added it; empty where that is a person
	Authors  []string        `json:"authors,omitempty"` // agents that may have written it: none of them reviews it
	Round    int             `json:"round"`             // from 1
	Verdict  ReviewVerdict   `json:"verdict,omitempty"`
	Findings []ReviewFinding `json:"findings,omitempty"`
}

// ReviewVerdict is how a review ended.
type ReviewVerdict string

// The verdicts of a review. It follows from what was found: only what is a blocker keeps a branch from being merged.
const (
	ReviewApproved ReviewVerdict = "approved"
	ReviewBlocked  ReviewVerdict = "blocked"
)

// ReviewGrade is how bad it is what a review has found.
type ReviewGrade string

// The grades, the worst first.
const (
	ReviewBlocker ReviewGrade = "blocker"
	ReviewMajor   ReviewGrade = "major"
	ReviewNit     ReviewGrade = "nit"
)

// ReviewFinding is one thing that a review says is wrong.
type ReviewFinding struct {
	Grade ReviewGrade `json:"grade"`
	Where string      `json:"where,omitempty"` // FILE or FILE:LINE
	Text  string      `json:"text"`            // untrusted text
}

// Resolved is an item of a merge queue that conflicts, or whose gates fail, and that other work is to bring in: by a branch of its
// own, through review and gates like any other.
type Resolved struct {
	Queue  string `json:"queue"`
	Item   string `json:"item"`
	Commit string `json:"commit"` // that the item is at: another one is its author's
}
