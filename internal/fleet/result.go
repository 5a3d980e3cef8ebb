package fleet

// ResultStatus is what became of an action.
type ResultStatus string

// The statuses of a result.
const (
	ResultDone       ResultStatus = "done"     // done, and its effect measured
	ResultUnneeded   ResultStatus = "unneeded" // at the instant of acting there was nothing to do
	ResultRefused    ResultStatus = "refused"  // at the instant of acting the precondition did not hold
	ResultFailed     ResultStatus = "failed"
	ResultUnverified ResultStatus = "unverified" // done, but the effect could not be measured
	ResultInDoubt    ResultStatus = "in_doubt"   // it is not known whether it was done: a crash, a server that did not answer
)

// Result is what became of an action.
type Result struct {
	ActionID string       `json:"action_id"`
	Do       string       `json:"do"`
	Subject  Subject      `json:"subject"`
	For      AlertKey     `json:"for"`
	Status   ResultStatus `json:"status"`
	Why      string       `json:"why,omitempty"`
	Unbegun  bool         `json:"unbegun,omitempty"` // it was held back before it began (a freeze, a stop of Custos): no try
	Lasting  bool         `json:"lasting,omitempty"` // refused, and no waiting changes that
	Effect   string       `json:"effect,omitempty"`  // what was measured afterwards
	Ran      []string     `json:"ran,omitempty"`     // what was run, as printed beforehand
	Began    Instant      `json:"began"`
	Ended    Instant      `json:"ended"`
	// Registration is what the action learned of an agent: instance, process,
	// worktree, session, prompt, checkpoint. Only those fields are taken from it.
	Registration *Registration `json:"registration,omitempty"`
	Verdict      *Verdict      `json:"verdict,omitempty"` // what a judge said
	// Arrival is what became of what the action was to give an agent; nil for an action
	// that gives none, and for one that did not begin: then nothing was given.
	Arrival *Arrival      `json:"arrival,omitempty"`
	Merge   *MergeOutcome `json:"merge,omitempty"` // what was learned of a merge group
}

// ActionStage is how far an action got, as journalled.
type ActionStage string

// The stages: each is written down before the next thing happens.
const (
	StagePlanned ActionStage = "planned" // committed with the plan; nothing was done
	StageStarted ActionStage = "started" // about to change the world
	StageEnded   ActionStage = "ended"   // has a result
)

// ActionRecord is an action in the ledger.
type ActionRecord struct {
	Action
	Stage     ActionStage `json:"stage"`
	PlannedAt Instant     `json:"planned_at"`
	StartedAt Instant     `json:"started_at,omitzero"`
	Result    *Result     `json:"result,omitempty"`
}

// Open says whether the action has no result yet.
func (r ActionRecord) Open() bool { return r.Stage != StageEnded }

// Command is a command that would be run, argument by argument. A step that is
// no command (a signal through a pidfd) is written as its nearest command.
type Command struct {
	Argv []string `json:"argv"`
	Note string   `json:"note,omitempty"`
}
