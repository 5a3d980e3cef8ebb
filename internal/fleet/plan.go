package fleet

// Plan is what to do now, and what is deliberately left undone.
type Plan struct {
	At      Instant    `json:"at"`
	Actions []Action   `json:"actions"`
	Skipped []Skipped  `json:"skipped"`
	Idle    []AlertKey `json:"idle,omitempty"` // findings whose rule asks for no action
}

// Action is one remedy for one subject.
type Action struct {
	ID       string   `json:"id"` // the same for the same intent: do, subject, alert and its attempt
	Do       string   `json:"do"`
	Subject  Subject  `json:"subject"`
	Target   Target   `json:"target"`
	For      AlertKey `json:"for"`
	Priority Priority `json:"priority"`
	Why      string   `json:"why"`                // the finding's summary
	Attempt  int      `json:"attempt"`            // from 1, within the rule's window
	Approved string   `json:"approved,omitempty"` // who approved it, where that was needed
}

// Guard names a reason not to act. The guards are asked in the order of Guards.
type Guard string

// The guards.
const (
	GuardInFlight Guard = "in-flight"
	GuardFrozen   Guard = "frozen"
	GuardMode     Guard = "mode"
	GuardForeign  Guard = "foreign"
	GuardPaused   Guard = "paused"
	GuardPerson   Guard = "person-stopped"
	GuardEvidence Guard = "evidence"
	GuardGrace    Guard = "grace"
	GuardCause    Guard = "cause-first"
	GuardCannot   Guard = "cannot"
	GuardCooldown Guard = "cooldown"
	GuardAttempts Guard = "attempts"
	GuardBudget   Guard = "budget"
	GuardBlast    Guard = "blast-radius"
	GuardApproval Guard = "approval"
	// GuardLimit is not asked first: a rule's own limit on how many targets it
	// takes at once. It counts only targets that every other guard let pass.
	GuardLimit Guard = "limit"
)

// Skipped is an action that a guard refused, why, and until when.
type Skipped struct {
	Action
	Guard Guard   `json:"guard"`
	Why   string  `json:"refused"`
	Until Instant `json:"until,omitzero"` // zero: until something changes
	Hint  string  `json:"hint,omitempty"` // the command a person can type
}

// Ability is what an action needs and promises.
type Ability struct {
	Do         string     `json:"do"`
	Idempotent bool       `json:"idempotent"` // may be done twice; else at most once, and in doubt after a crash
	Touches    []PartName `json:"touches"`    // parts that must be looked at again afterwards
	Deadline   Duration   `json:"deadline"`
	Cannot     string     `json:"cannot,omitempty"`   // why it cannot be done here (no privilege, no engine)
	Needs      string     `json:"needs,omitempty"`    // the command that would make it possible
	Harmless   bool       `json:"harmless,omitempty"` // touches nothing of anyone's (a message): allowed in every mode
	Starts     bool       `json:"starts,omitempty"`   // starts or resumes something: refused where a person stopped it
}

// Policy is what a person allows.
type Policy struct {
	Mode       Mode               `json:"mode"`                  // ceiling for the whole fleet
	ApprovedBy string             `json:"approved_by,omitempty"` // set when a person asked for this very pass (--apply)
	Frozen     string             `json:"frozen,omitempty"`      // who froze it and why; empty when not
	Paused     []Subject          `json:"paused,omitempty"`
	Grace      Duration           `json:"grace"`  // after the start of Custos, no action on agents
	Budget     Attempts           `json:"budget"` // actions of the whole fleet in a window
	Blast      int                `json:"blast"`  // distinct subjects of one kind acted on in one pass; 0: no cap
	Abilities  map[string]Ability `json:"abilities"`
}

// Past is what is remembered: the input beside the snapshot.
type Past struct {
	StartedAt Instant        `json:"started_at"`         // of this Custos
	Newest    Instant        `json:"newest,omitzero"`    // of all records
	Patrol    int64          `json:"patrol"`             // number of the last patrol
	PatrolAt  Instant        `json:"patrol_at,omitzero"` // and when it was
	NextAlert int64          `json:"next_alert"`         // number of the next new alert
	Amnesia   bool           `json:"amnesia,omitempty"`
	Alerts    []Alert        `json:"alerts,omitempty"`  // not over, or over so lately that flapping counts
	Actions   []ActionRecord `json:"actions,omitempty"` // open, or young enough for a window
	Silences  []Silence      `json:"silences,omitempty"`
	Stopped   []Subject      `json:"stopped,omitempty"` // a person stopped it: never resurrect
	Agents    []AgentRecord  `json:"agents,omitempty"`
}

// Silence keeps alerts from being told until a moment. An empty Rule or
// Subject matches all.
type Silence struct {
	Rule    string  `json:"rule,omitempty"`
	Subject Subject `json:"subject,omitzero"`
	By      string  `json:"by"`
	Why     string  `json:"why,omitempty"`
	From    Instant `json:"from"`
	Until   Instant `json:"until"`
}

// Turn is everything one pass commits before anything is done, in one
// transaction: the alerts, the intents and the outbox.
type Turn struct {
	At         Instant       `json:"at"`
	Patrol     int64         `json:"patrol,omitempty"` // 0 for a pass that is no patrol
	Assessment Assessment    `json:"assessment"`
	Plan       Plan          `json:"plan"`
	Agents     []AgentRecord `json:"agents,omitempty"` // what to remember of the agents seen
	Outbox     []Message     `json:"outbox,omitempty"`
}

// Message is one thing to tell people, once.
type Message struct {
	ID       string   `json:"id"` // the same for the same news: alert, transition and its instant
	At       Instant  `json:"at"`
	Priority Priority `json:"priority"`
	Subject  string   `json:"subject"` // one line
	Body     string   `json:"body,omitempty"`
	Alert    AlertKey `json:"alert,omitzero"`
	AllClear bool     `json:"all_clear,omitempty"`
}
