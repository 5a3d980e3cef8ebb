package fleet

import "strings"

// Ref names one piece of work, wherever it is kept: "w12" in Custos' own ledger,
// "PROJECT#12" for an issue and "PROJECT!7" for a pull request of a forge,
// "bd:ID" for a bead.
type Ref string

// Tracker is where a piece of work is kept.
type Tracker string

// The trackers.
const (
	TrackerOwn   Tracker = "custos"
	TrackerIssue Tracker = "issue"
	TrackerPull  Tracker = "pr"
	TrackerBeads Tracker = "beads"
	// TrackerUnknown is that of a name which no tracker has a form for. What is
	// kept there is never seen, so that it is never closed.
	TrackerUnknown Tracker = ""
)

// beads is what names of beads begin with, among other references.
const beads = "bd:"

// Tracker says where the work is kept, by the form of its name.
func (r Ref) Tracker() Tracker {
	s := string(r)
	if id, ok := strings.CutPrefix(s, beads); ok && isBeadID(id) {
		return TrackerBeads
	}
	if number, ok := strings.CutPrefix(s, "w"); ok && isNumber(number) {
		return TrackerOwn
	}
	i := strings.IndexAny(s, "#! \t\n\f\r")
	switch {
	case i <= 0 || !isNumber(s[i+1:]):
		return TrackerUnknown
	case s[i] == '#':
		return TrackerIssue
	case s[i] == '!':
		return TrackerPull
	}
	return TrackerUnknown
}

// isNumber says whether a text is a whole number from 1 on, as it is written.
func isNumber(s string) bool { return s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == "" }

func isBeadID(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20 // of a letter: the small one
		if isMark := s[i] == '.' || s[i] == '_' || s[i] == '-'; !(c >= 'a' && c <= 'z' || s[i] >= '0' && s[i] <= '9' || isMark && i > 0) {
			return false
		}
	}
	return s != ""
}

// BeadRef is how other work names a bead.
func BeadRef(id string) Ref { return Ref(beads + id) }

// WorkState is where a piece of work is.
type WorkState string

// The states of a piece of work.
const (
	WorkOpen   WorkState = "open"
	WorkTaken  WorkState = "in progress"
	WorkClosed WorkState = "closed"
)

// WorkItem is one piece of work in Custos' own ledger.
type WorkItem struct {
	Head
	Title    string    `json:"title"`
	Body     string    `json:"body,omitempty"`
	Project  string    `json:"project,omitempty"`
	Role     string    `json:"role,omitempty"` // of the agents that it is for
	Labels   []string  `json:"labels,omitempty"`
	Priority Priority  `json:"priority"`
	State    WorkState `json:"state"`
	Agent    string    `json:"agent,omitempty"`   // who works on it
	Person   bool      `json:"person,omitempty"`  // who works on it is a person, whatever agent is called so
	Outcome  string    `json:"outcome,omitempty"` // completed, wontfix, …; of a closed one
	Why      string    `json:"why,omitempty"`
	By       string    `json:"by"`
	At       Instant   `json:"at"`
	Since    Instant   `json:"since"` // of this state
	ClosedBy string    `json:"closed_by,omitempty"`
	Begin    []Order   `json:"begin,omitempty"`    // that have its agent begin, where it was handed out: the first says how it went
	Begun    bool      `json:"begun,omitempty"`    // they were given
	Files    []string  `json:"files,omitempty"`    // that it changes, as far as is known: files, folders or patterns
	Part     Ref       `json:"part,omitempty"`     // work that it is a part of
	Team     string    `json:"team,omitempty"`     // that brings it to its end
	Ends     string    `json:"ends,omitempty"`     // how, by the role that it was handed out for: RoleEndsMerged, or by its agent's word
	Tries    int       `json:"tries,omitempty"`    // how often Custos itself has handed it out, since a person said something of it
	Spent    bool      `json:"spent,omitempty"`    // so often that it does not again
	Branch   string    `json:"branch,omitempty"`   // of the agent that it was handed out to
	Left     string    `json:"left,omitempty"`     // branch of the agent that had it before
	LeftBy   string    `json:"left_by,omitempty"`  // that agent
	Result   string    `json:"result,omitempty"`   // what came of it, for whoever goes on from there; untrusted text
	Review   *Review   `json:"review,omitempty"`   // that it is; nil for work of any other kind
	Resolves *Resolved `json:"resolves,omitempty"` // item of a merge queue that it is to bring in; nil for work of any other kind
}

// Ref is how other work names it.
func (w WorkItem) Ref() Ref { return Ref(w.ID) }

// Over says whether it is closed. It is kept all the same: it may be reopened.
func (w WorkItem) Over() bool { return w.State == WorkClosed }

// Dependency says that one piece of work waits for another one, in whichever
// trackers the two are kept. It is resolved once for each closing of Needs.
type Dependency struct {
	Head
	Of     Ref             `json:"of"`    // the one that waits
	Needs  Ref             `json:"needs"` // what it waits for
	State  DependencyState `json:"state"`
	By     string          `json:"by"`
	At     Instant         `json:"at"`
	Since  Instant         `json:"since"`           // of this state
	Times  int             `json:"times,omitempty"` // how often Needs was seen closed after it was open
	Told   int             `json:"told,omitempty"`  // how many of these closings are dealt with: Of was reported to be free, or has no use for it
	Open   bool            `json:"open,omitempty"`  // Needs was seen to be open since Of waits
	Why    string          `json:"why,omitempty"`
	Source Tracker         `json:"source"` // who reports it: custos, or the tracker that Of is kept in
}

// DependencyState is whether work still waits.
type DependencyState string

// The states of a dependency.
const (
	DependencyWaits    DependencyState = "waits"
	DependencyResolved DependencyState = "resolved"
	DependencyDropped  DependencyState = "dropped" // it was taken back, or its tracker reports it no more
)

// Over says whether nothing more becomes of it.
func (d Dependency) Over() bool { return d.State == DependencyDropped }

// DependencyKey names the one dependency that there is between two pieces of work.
func DependencyKey(of, needs Ref) string { return string(of) + " <- " + string(needs) }

// MeansAgent says whether a tracker that writes an agent so may mean the agent of a
// name: with the rig and role before it (gastown/polecats/nux, polecat-nux), or
// without the prefix of the session that the agent is called after.
func MeansAgent(written, name string) bool {
	last := written[strings.LastIndex(strings.TrimSuffix(written, "/"), "/")+1:]
	last = strings.TrimSuffix(last, "/")
	return last != "" && name != "" && (last == name || strings.HasSuffix(last, "-"+name) || strings.HasSuffix(name, "-"+last))
}
