package fleet

// Coordination is what the records of coordination mean at one instant.
type Coordination struct {
	Work    []WorkFacts   `json:"work,omitempty"`
	Gates   []GateFacts   `json:"gates,omitempty"`
	Convoys []ConvoyFacts `json:"convoys,omitempty"`
	Mails   []MailFacts   `json:"mails,omitempty"`
}

// WorkFacts is one piece of work of the ledger, or one that something else waits
// for or depends on, whichever tracker keeps it.
type WorkFacts struct {
	Ref       Ref             `json:"ref"`
	Tracker   Tracker         `json:"tracker"`
	Title     string          `json:"title,omitempty"`
	Project   string          `json:"project,omitempty"`
	Priority  Priority        `json:"priority,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	State     Leaf[WorkState] `json:"state"`                // unknown: its tracker does not show it
	BlockedBy []Ref           `json:"blocked_by,omitempty"` // what it waits for, and is not closed, or not seen
	Unseen    []Ref           `json:"unseen,omitempty"`     // of these, what no tracker shows
	Ready     Leaf[bool]      `json:"ready"`                // open, waits for nothing, and nobody works on it
	Cycle     []Ref           `json:"cycle,omitempty"`      // of dependencies, that it is the first of
	Age       Duration        `json:"age"`                  // since it was written down; 0 for work of other trackers
	Since     Duration        `json:"since"`                // since this state began; the same
	Waits     Duration        `json:"waits"`                // how long it has waited for the oldest dependency that is not resolved
	Alive     Leaf[bool]      `json:"alive"`                // whether the agent that works on it lives; true when nobody does
	Held      string          `json:"held,omitempty"`       // why its tracker says that it waits, though nothing is left that it waits for
}

// GateFacts is a gate that is open, or was closed within a day.
type GateFacts struct {
	ID      string    `json:"id"`
	Type    GateType  `json:"type"`
	Title   string    `json:"title"`
	Project string    `json:"project,omitempty"`
	State   GateState `json:"state"`
	Outcome string    `json:"outcome,omitempty"`
	Why     string    `json:"why,omitempty"` // why it is closed, or what keeps it from being judged
	Waiters []string  `json:"waiters,omitempty"`
	Age     Duration  `json:"age"`
	Overdue Duration  `json:"overdue"` // past its due; 0 while it is not
	Blind   bool      `json:"blind"`   // what it waits for cannot be seen
}

// ConvoyFacts is a convoy that is open, or was done within a day.
type ConvoyFacts struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	State   ConvoyState `json:"state"`
	Members int         `json:"members"`
	Closed  int         `json:"closed"`
	Ready   Leaf[int]   `json:"ready"`   // members that somebody could take up
	Taken   Leaf[int]   `json:"taken"`   // members that a live agent, or a person, works on
	Unseen  int         `json:"unseen"`  // members that no tracker shows
	Age     Duration    `json:"age"`     // since it was made
	Still   Duration    `json:"still"`   // since any member changed
	Overdue Duration    `json:"overdue"` // past its due; 0 while it is not
}

// MailFacts is a mail that is not over.
type MailFacts struct {
	ID       string   `json:"id"`
	From     string   `json:"from"`
	Type     MailType `json:"type,omitempty"`
	Priority Priority `json:"priority"`
	Subject  string   `json:"subject"`
	Readers  int      `json:"readers"`
	Unread   int      `json:"unread"`  // copies that nobody has acknowledged
	Bounced  int      `json:"bounced"` // copies that nobody will read
	Age      Duration `json:"age"`
	Answered bool     `json:"answered"`
	Raised   bool     `json:"raised"` // escalated, for want of an answer
	Grade    Priority `json:"grade,omitempty"`
	Stopped  string   `json:"stopped,omitempty"` // why no more of its kind is taken: two agents write in a loop
}

// Bead is one piece of work in a tracker of beads, as its own command tells.
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

// CoordinationPolicy is who is told of what is coordinated.
type CoordinationPolicy struct {
	// Watcher is told that work is free which no agent has: the name of an agent,
	// role/ROLE for those of the work's project, or Overseer. Watchers has others
	// for single projects.
	Watcher  string            `json:"watcher,omitempty"`
	Watchers map[string]string `json:"watchers,omitempty"`
	// Convoys is told that a convoy is done that names nobody.
	Convoys []string `json:"convoys,omitempty"`
}
