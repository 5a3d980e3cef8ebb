package fleet

// Coordination is what the records of coordination mean at one instant.
type Coordination struct {
	Work    []WorkFacts   `json:"work,omitempty"`
	Gates   []GateFacts   `json:"gates,omitempty"`
	Convoys []ConvoyFacts `json:"convoys,omitempty"`
	Mails   []MailFacts   `json:"mails,omitempty"`
	Merges  []MergeFacts  `json:"merges,omitempty"`
}

// WorkFacts is one piece of work of the ledger, or one that something else waits
// for or depends on, whichever tracker keeps it.
type WorkFacts struct {
	Ref        Ref             `json:"ref" help:"how other work names it: w12, PROJECT#12, PROJECT!7, bd:ID"`
	Tracker    Tracker         `json:"tracker" help:"custos, issue, pr or beads"`
	Title      string          `json:"title,omitempty" help:"untrusted text"`
	Project    string          `json:"project,omitempty" help:"its project"`
	Priority   Priority        `json:"priority,omitempty" help:"P0 to P4, where it has one"`
	Agent      string          `json:"agent,omitempty" help:"who works on it; empty when no one is known to"`
	State      Leaf[WorkState] `json:"state" help:"open, in progress or closed; not known when its tracker does not show it"`
	BlockedBy  []Ref           `json:"blocked_by,omitempty" help:"what it waits for, and is not closed, or not seen"`
	Unseen     []Ref           `json:"unseen,omitempty" help:"of that, what no tracker shows"`
	Ready      Leaf[bool]      `json:"ready" help:"whether it may be taken up: it is open, waits for nothing, and no one works on it"`
	Cycle      []Ref           `json:"cycle,omitempty" help:"the cycle of dependencies that it is the first of"`
	Age        Duration        `json:"age" help:"time since it was written down; 0s for work of other trackers"`
	Since      Duration        `json:"since" help:"time since its state began; 0s for work of other trackers"`
	Waits      Duration        `json:"waits" help:"time for which it has waited for the oldest dependency that is not resolved"`
	Alive      Leaf[bool]      `json:"alive" help:"whether the agent that works on it lives; true when no one works on it"`
	Review     bool            `json:"review,omitempty" help:"whether it is a review of a branch that waits to be merged"`
	HandedIn   bool            `json:"handed_in,omitempty" help:"whether a branch for it is in a merge queue, and not back with its author"`
	Dispatched bool            `json:"dispatched,omitempty" help:"whether somebody has it because Custos itself has handed it out"`
	Ends       string          `json:"ends,omitempty" help:"merged: by its merge, and not by the word of the agent that has it; else empty"`
	Claimed    Duration        `json:"claimed,omitempty" help:"time since the agent that has it said by mail (worker_done) that it is done; 0s when it did not"`
	Tries      int             `json:"tries,omitempty" help:"how often Custos itself has handed it out since a person said something of it"`
	Spent      bool            `json:"spent,omitempty" help:"so often that it does not again"`
	Held       string          `json:"held,omitempty" help:"why its tracker says that it waits, though nothing is left that it waits for; empty when it does not"`
}

// GateFacts is a gate that is open, or was closed within a day.
type GateFacts struct {
	ID      string    `json:"id" help:"its ID"`
	Type    GateType  `json:"type" help:"timer, event, condition, gh:run, gh:pr, human or mail"`
	Title   string    `json:"title" help:"untrusted text"`
	Project string    `json:"project,omitempty" help:"its project"`
	State   GateState `json:"state" help:"open or closed"`
	Outcome string    `json:"outcome,omitempty" help:"passed, failed or cancelled; empty while it is open"`
	Why     string    `json:"why,omitempty" help:"why it is closed, or what keeps it from being judged"`
	Waiters []string  `json:"waiters,omitempty" help:"who is notified when it closes"`
	Age     Duration  `json:"age" help:"time since it was made"`
	Overdue Duration  `json:"overdue" help:"time past its due; 0s while it is not"`
	Blind   bool      `json:"blind" help:"whether what it waits for cannot be seen"`
	Closing bool      `json:"closing,omitempty" unread:"a pass closes such gates before its rules are asked"` // the next pass closes it
}

// ConvoyFacts is a convoy that is open, or was done within a day.
type ConvoyFacts struct {
	ID      string      `json:"id" help:"its ID"`
	Title   string      `json:"title" help:"untrusted text"`
	State   ConvoyState `json:"state" help:"open, done or closed"`
	Members int         `json:"members" help:"how many it has"`
	Closed  int         `json:"closed" help:"members that are closed"`
	Ready   Leaf[int]   `json:"ready" help:"members that may be taken up"`
	Taken   Leaf[int]   `json:"taken" help:"members that a live agent, or a person, works on"`
	Unseen  int         `json:"unseen" help:"members that no tracker shows"`
	Age     Duration    `json:"age" help:"time since it was made"`
	Still   Duration    `json:"still" help:"time since any member changed"`
	Overdue Duration    `json:"overdue" help:"time past its due; 0s while it is not"`
}

// MailFacts is a mail that is not over.
type MailFacts struct {
	ID       string   `json:"id" help:"its ID"`
	From     string   `json:"from" help:"who wrote it"`
	Type     MailType `json:"type,omitempty" help:"HELP, question, …; empty for free text"`
	Priority Priority `json:"priority" help:"P0 to P4"`
	Subject  string   `json:"subject" help:"untrusted text"`
	Readers  int      `json:"readers" help:"whom it is for"`
	Unread   int      `json:"unread" help:"who has not acknowledged it"`
	Bounced  int      `json:"bounced" help:"who will never read it"`
	Age      Duration `json:"age" help:"time since it was written"`
	Answered bool     `json:"answered" help:"whether it was answered"`
	Raised   bool     `json:"raised" help:"whether it was escalated, for want of an answer"`
	Grade    Priority `json:"grade,omitempty" help:"P0 to P4, as the words of a HELP were sorted; empty for other mail"`
	Stopped  string   `json:"stopped,omitempty" help:"why no more of its kind is taken, as when two agents write in a loop; empty while it is"`
}

// Bead is one piece of work in a tracker of beads, as its own command reports it.
type Bead struct {
	ID       string        `json:"id"`
	Project  string        `json:"project,omitempty"` // name of the folder that its tracker is in
	Title    string        `json:"title"`
	State    WorkState     `json:"state"`
	Outcome  string        `json:"outcome,omitempty"`
	Assignee string        `json:"assignee,omitempty"`
	Priority Priority      `json:"priority,omitempty"`
	Labels   []string      `json:"labels,omitempty"`
	Needs    []string      `json:"needs,omitempty"`   // IDs of beads that block it
	Blocked  bool          `json:"blocked,omitempty"` // it says of itself that it waits
	Waits    string        `json:"waits,omitempty"`   // why it is not to be taken up though nothing blocks it: deferred, …
	Updated  Leaf[Instant] `json:"updated"`
	Closed   Leaf[Instant] `json:"closed"` // when it was closed
}

// CoordinationPolicy is who is notified of what is coordinated.
type CoordinationPolicy struct {
	// Watcher is notified of work that no agent has: the name of an agent,
	// role/ROLE for those of the work's project, or Overseer. Watchers has others
	// for single projects.
	Watcher  string            `json:"watcher,omitempty"`
	Watchers map[string]string `json:"watchers,omitempty"`
	// Convoys is notified when a convoy is done that names no one.
	Convoys []string `json:"convoys,omitempty"`
}
