package fleet

import "slices"

// Handoff is how far an agent is on its way to a fresh one in its place, which
// goes on with what the old one wrote down. It is of one instance, and each stage
// is written down before the next begins.
type Handoff struct {
	Instance string       `json:"instance"` // that hands over
	Stage    HandoffStage `json:"stage"`
	Since    Instant      `json:"since"`           // of the stage
	Why      string       `json:"why,omitempty"`   // of the stage, where it needs a reason
	Order    string       `json:"order,omitempty"` // that the stage waits for
	Text     string       `json:"text,omitempty"`  // what was handed over
	By       string       `json:"by,omitempty"`    // who wrote that: the agent, or a person
	Next     string       `json:"next,omitempty"`  // instance that took over
}

// HandoffStage is where a hand-off stands.
type HandoffStage string

// The stages of a hand-off, in the order they are gone through. What is late may
// still be written; what failed, or is done, is over.
const (
	HandoffAsked    HandoffStage = "asked"    // to write down what the next one must know
	HandoffLate     HandoffStage = "late"     // it did not, in time: a checkpoint was ordered, and the rest is a person's
	HandoffWritten  HandoffStage = "written"  // and kept, whatever comes
	HandoffSaving   HandoffStage = "saving"   // a checkpoint was ordered
	HandoffStopping HandoffStage = "stopping" // it is ended, once its turn is over
	HandoffStarting HandoffStage = "starting" // the fresh one is started
	HandoffDone     HandoffStage = "done"
	HandoffFailed   HandoffStage = "failed" // a person has to look
)

// HandoffPolicy is the section [handoff].
type HandoffPolicy struct {
	For      []string `json:"for,omitempty"` // roles, kinds and names of agents; "*": all that Custos started
	Percent  float64  `json:"percent"`       // of its context used, from which an agent is asked
	Deadline Duration `json:"deadline"`      // for its answer
}

// DefaultHandoffPolicy asks no agent: a fresh agent costs what the old one knew.
func DefaultHandoffPolicy() HandoffPolicy {
	return HandoffPolicy{Percent: 80, Deadline: Duration(600e9)}
}

// Covers says whether an agent is one to be replaced: Custos started it and starts
// it again by itself, and no run is answerable for it.
func (p HandoffPolicy) Covers(r Registration) bool {
	return r.Owner == OwnerCustos && r.Run == "" && r.Restart != RestartNever && slices.ContainsFunc(p.For, func(s string) bool {
		return s == "*" || s == r.Name || s == r.Role || s == r.Kind
	})
}

// LongestHandoff is the most bytes of what an agent hands over. It becomes an
// argument of a command line, of which Linux takes 128 KiB.
const LongestHandoff = 64 << 10
