package fleet

// GateType is what a gate waits for.
type GateType string

// The types of gate.
const (
	GateTimer     GateType = "timer"     // a moment
	GateEvent     GateType = "event"     // something on record after the gate was made
	GateCondition GateType = "condition" // an expression of the rules' language, or a command that ends with 0
	GateRun       GateType = "gh:run"    // a pipeline of any CI
	GatePull      GateType = "gh:pr"     // a pull request of any forge
	GateHuman     GateType = "human"     // a person's word
	GateMail      GateType = "mail"      // a mail
)

// GateTypes lists the types of gate.
func GateTypes() []GateType {
	return []GateType{GateTimer, GateEvent, GateCondition, GateRun, GatePull, GateHuman, GateMail}
}

// GateState is whether a gate still holds back who waits for it.
type GateState string

// The states of a gate.
const (
	GateOpen   GateState = "open" // it still waits
	GateClosed GateState = "closed"
)

// Outcomes of a gate that is closed.
const (
	GatePassed    = "passed"
	GateFailed    = "failed"    // what it waits for can never come: a pull request closed unmerged, a run that failed
	GateCancelled = "cancelled" // it was taken back
)

// Gate holds back what waits for it until one thing has happened. It is
// closed once, with a reason, and each waiter is notified once.
type Gate struct {
	Head
	Type    GateType `json:"type"`
	Title   string   `json:"title"`
	Project string   `json:"project,omitempty"`

	Until Instant  `json:"until,omitzero"` // timer: when it closes
	On    string   `json:"on,omitempty"`   // event: as of a schedule, or "trigger:NAME"
	When  string   `json:"when,omitempty"` // condition: an expression
	Check []string `json:"check,omitempty"`
	// Check is a command instead of When; only a person may give one. It may take
	// Timeout; one that hangs is ended with all that it began, and says nothing.
	Timeout Duration `json:"timeout,omitempty"`
	Of      Ref      `json:"of,omitempty"`      // gh:pr: the pull request
	Run     string   `json:"run,omitempty"`     // gh:run: name of the pipeline, SYSTEM/PROJECT#NUMBER
	From    string   `json:"from,omitempty"`    // mail: who is to write it; empty: anybody
	To      string   `json:"to,omitempty"`      // mail: to whom
	Subject string   `json:"subject,omitempty"` // mail: what its subject begins with

	Waiters []string  `json:"waiters,omitempty"` // addresses that are notified
	Due     Instant   `json:"due,omitzero"`      // overdue after it
	Step    string    `json:"step,omitempty"`    // RUN/STEP of a formula that waits
	State   GateState `json:"state"`
	Outcome string    `json:"outcome,omitempty"`
	Why     string    `json:"why,omitempty"`
	By      string    `json:"by"`
	At      Instant   `json:"at"`
	Since   Instant   `json:"since"` // of this state
	Closer  string    `json:"closer,omitempty"`
}

// Over says whether it is closed. A gate is never opened again.
func (g Gate) Over() bool { return g.State == GateClosed }

// GateCheck is what the command of a gate said when it was last run.
type GateCheck struct {
	Gate  string     `json:"gate"`  // its ID
	Holds Leaf[bool] `json:"holds"` // whether it ended with 0
	At    Instant    `json:"at"`
}

// Trigger is something that happened outside, as a person, an agent or a webhook
// reports: what waits for "trigger:NAME" goes on.
type Trigger struct {
	Head
	Name string  `json:"name"`
	Text string  `json:"text,omitempty"`
	By   string  `json:"by"`
	At   Instant `json:"at"`
}

// Over is always true: it happened.
func (t Trigger) Over() bool { return true }
