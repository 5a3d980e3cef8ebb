package fleet

import "strings"

// Plan is what to do now, and what is deliberately left undone.
type Plan struct {
	At      Instant    `json:"at"`
	Actions []Action   `json:"actions"`
	Skipped []Skipped  `json:"skipped"`
	Idle    []AlertKey `json:"idle,omitempty"` // findings whose rule asks for no action
	// Orders are those whose state this plan changes: answered by an action,
	// queued, refused, done or expired. What stays as it was is not in it.
	Orders []Order `json:"orders,omitempty"`
	// Failed are agents that are not recovered any more by themselves, from this
	// plan on; it names one once, not at every pass.
	Failed []Failing `json:"failed,omitempty"`
	// Moves are what becomes of records by itself; what follows holds the rows behind them.
	Moves []Move `json:"moves,omitempty"`
	Follows
}

// Only is the plan cut down to some of its actions: nothing else of it is done.
func (p Plan) Only(actions []Action) Plan { return Plan{At: p.At, Actions: actions} }

// Turn is what is committed of the plan: no other way leads to a turn.
func (p Plan) Turn() Turn { return Turn{At: p.At, Plan: p, Outbox: p.Messages} }

// Failing is an agent whose attempts at recovery are spent.
type Failing struct {
	Agent string  `json:"agent"`
	Why   string  `json:"why"`
	Until Instant `json:"until,omitzero"` // when the window opens again
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
	Order    string   `json:"order,omitempty"`    // ID of the order it answers
	By       string   `json:"by,omitempty"`       // who gave that order
	Text     string   `json:"text,omitempty"`     // of the order or the wish: what to type, what to choose, why to stop
	Dialog   string   `json:"dialog,omitempty"`   // of an answer: hash of the dialog it is for
	Command  bool     `json:"command,omitempty"`  // of a nudge: it is a command of the agent's CLI, and typed as it is
	Fence    *Fence   `json:"fence,omitempty"`    // by which it is done, where several hosts share what it is done to
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
	GuardAlive    Guard = "alive" // it works: only a person's own stop or interrupt may disturb it
	GuardState    Guard = "state" // the agent is not in the state that the action is for
	GuardGrace    Guard = "grace"
	GuardCause    Guard = "cause-first"
	GuardCannot   Guard = "cannot"
	GuardCooldown Guard = "cooldown"
	GuardAttempts Guard = "attempts"
	GuardVerdict  Guard = "verdict" // a judge said to leave it alone for now
	GuardGate     Guard = "gate"    // starts are held back: memory, count, depth, stagger, a common cause, a rate limit
	GuardSpend    Guard = "spend"   // a budget of what models cost is used up
	GuardBudget   Guard = "budget"
	GuardLease    Guard = "lease" // several hosts share it, and this one does not hold it
	GuardBlast    Guard = "blast-radius"
	GuardApproval Guard = "approval"
	// GuardLimit is not asked first: a rule's own limit on how many targets it
	// takes at once. It counts only targets that every other guard let pass.
	GuardLimit Guard = "limit"
)

// Skipped is an action that a guard refused, why, and until when: of all that holds it,
// what is known to end last.
type Skipped struct {
	Action
	Guard Guard   `json:"guard"`
	Why   string  `json:"refused"`
	Until Instant `json:"until,omitzero"` // zero: until something changes
	Hint  string  `json:"hint,omitempty"` // the command a person can type
	// Also is what else holds it, by guard, of a hold whose end is known.
	Also []string `json:"also,omitempty"`
}

// Reason is why a guard said no, for where its name is shown beside it: without that
// name before it.
func (s Skipped) Reason() string { return strings.TrimPrefix(s.Why, string(s.Guard)+": ") }

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
	Singly     bool       `json:"singly,omitempty"`   // only where a person approves of this very alert: no mode and no --apply is enough
	Denied     string     `json:"denied,omitempty"`   // of one that is done Singly: the action that is done where a person denies
	Gentle     bool       `json:"gentle,omitempty"`   // does not disturb an agent that works (a checkpoint): no need for it to be still
	Shared     Shared     `json:"shared,omitempty"`   // what of its target several hosts have in common; empty: nothing
	Fenced     bool       `json:"fenced,omitempty"`   // whether it was another's meanwhile shows where it is done (by a compare-and-swap)
}

// Policy is what a person allows.
type Policy struct {
	Mode       Mode               `json:"mode"`                  // ceiling for the whole fleet
	ApprovedBy string             `json:"approved_by,omitempty"` // set when a person asked for this very pass (--apply)
	Singly     bool               `json:"singly,omitempty"`      // what was approved is one alert, and was shown
	Frozen     string             `json:"frozen,omitempty"`      // who froze it and why; empty when not
	Paused     []Subject          `json:"paused,omitempty"`
	Grace      Duration           `json:"grace"`  // after the start of Custos, no action on agents
	Budget     Attempts           `json:"budget"` // actions of the whole fleet in a window
	Blast      int                `json:"blast"`  // distinct subjects of one kind acted on in one pass; 0: no cap
	Abilities  map[string]Ability `json:"abilities"`
	Agents     AgentLimits        `json:"agents,omitzero"`
	Runs       RunPolicy          `json:"runs,omitzero"`
	Triage     TriagePolicy       `json:"triage,omitzero"`
	Handoff    HandoffPolicy      `json:"handoff,omitzero"`
	Pools      []Pool             `json:"pools,omitempty"`
	Merges     []MergeQueue       `json:"merges,omitempty"`
	Roles      []Role             `json:"roles,omitempty"`
	Teams      []Team             `json:"teams,omitempty"`
	Budgets    []Budget           `json:"budgets,omitempty"` // of what models cost
	// Coordination is who is notified of work and convoys.
	Coordination CoordinationPolicy `json:"coordination,omitzero"`
	// Mails is what mail of some types brings about.
	Mails map[MailType]MailAction `json:"mails,omitempty"`
}

// AgentLimits bound what is done to agents beyond a rule's own windows. A zero
// field means what its comment says.
type AgentLimits struct {
	SpawnMemory int64    `json:"spawn_memory"` // bytes that must be available on the host for a start; 0: not asked
	MaxAgents   int      `json:"max_agents"`   // agents of ours that run at once; 0: none may be started
	MaxDepth    int      `json:"max_depth"`    // of the tree of parents; an agent without a parent has depth 0
	Stagger     Duration `json:"stagger"`      // between two starts
	Settle      Duration `json:"settle"`       // after a death, before it is recovered: a common cause shows first
	Typing      Duration `json:"typing"`       // nothing is typed into a pane that a person looks at and that changed so lately
	Deaths      Attempts `json:"deaths"`       // so many deaths so close together have a common cause; Max 0: never
	Hold        Duration `json:"hold"`         // after the last of them no recovery; then one, and 2, 4 and so on while that helps
	Probe       Duration `json:"probe"`        // after one that did not help (a common cause, a rate limit), before the next is tried
	Jitter      Duration `json:"jitter"`       // after the reset of a rate limit, at most so long, different for each agent
	NudgeTTL    Duration `json:"nudge_ttl"`    // a nudge or an answer expires so long after it was given, unless it says when
	OrderTTL    Duration `json:"order_ttl"`    // any other order
	Orders      Remedy   `json:"orders"`       // how often what was ordered is tried; its Mode is not used
	// AfterReboot is how far Custos may go with the agents that ran when the
	// machine was started again. ModeAsk, and the zero Mode: each is offered, and
	// waits for a person; ModeAuto: they are started one after the other, each
	// when the one before was seen to work; ModeObserve: a person's approval of a
	// whole pass does not start them either.
	AfterReboot Mode `json:"after_reboot"`
}

// DefaultAgentLimits are the limits of an empty configuration.
func DefaultAgentLimits() AgentLimits {
	const second, minute = Duration(1e9), Duration(60e9)
	return AgentLimits{
		SpawnMemory: 2000 << 20, // what the seeds' supervisor calls low; one agent with its tools takes about 1 GiB
		MaxAgents:   50,
		MaxDepth:    3,
		Stagger:     2 * second,
		Settle:      3 * second,
		Typing:      minute,
		Deaths:      Attempts{Max: 3, In: 30 * second},
		Hold:        30 * second,
		Probe:       5 * minute,
		Jitter:      minute,
		NudgeTTL:    10 * minute,
		OrderTTL:    60 * minute,
		Orders:      Remedy{Cooldown: 10 * second, Attempts: Attempts{Max: 3, In: 60 * minute}},
		AfterReboot: ModeAsk,
	}
}

// Past is what is remembered: the input beside the snapshot.
type Past struct {
	StartedAt Instant        `json:"started_at"`         // of this Custos
	Newest    Instant        `json:"newest,omitzero"`    // of all records
	Patrol    int64          `json:"patrol"`             // number of the last patrol
	PatrolAt  Instant        `json:"patrol_at,omitzero"` // and when it was
	NextAlert int64          `json:"next_alert"`         // number of the next new alert
	Amnesia   bool           `json:"amnesia,omitempty"`
	Lost      string         `json:"lost,omitempty"`    // with Amnesia: what became of what was known before
	Blind     string         `json:"blind,omitempty"`   // why what is remembered cannot be read now
	Alerts    []Alert        `json:"alerts,omitempty"`  // not over, or over so lately that flapping counts
	Aside     []int64        `json:"aside,omitempty"`   // numbers of alerts whose rows could not be read, of the last day: whether they ended is not known
	Actions   []ActionRecord `json:"actions,omitempty"` // open, or young enough for a window
	Silences  []Silence      `json:"silences,omitempty"`
	Agents    []AgentRecord  `json:"agents,omitempty"`
	Quotas    []AccountQuota `json:"quotas,omitempty"` // of each account and window what was told last
	// Registrations are those not retired, or retired within a day; Orders those
	// that are not over, in the order they were given.
	Registrations []Registration `json:"registrations,omitempty"`
	Orders        []Order        `json:"orders,omitempty"`
	// Asked are those that wait to be approved of: nothing follows from them.
	Asked []Order `json:"asked,omitempty"`
	// Tried are the orders of pools that are over, given within the last twenty minutes: what
	// came to nothing is not ordered again before its time.
	Tried []Order `json:"tried,omitempty"`
	// Runs are those of formulas that are not over, or ended within a day, and the
	// newest of each schedule; in the order they were taken. Verdicts are those of the last day.
	Runs     []Run     `json:"runs,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Records are what people and agents coordinate by.
	Records Records `json:"records,omitzero"`
}

// ClockBehind says whether the clock is behind the newest record, so that nothing
// that depends on time can be believed. Within one boot it never is: what is newer
// there was written while at was being thought about.
func (p *Past) ClockBehind(at Instant) bool {
	sameBoot := at.Boot != "" && at.Boot == p.Newest.Boot
	return !p.Newest.IsZero() && !sameBoot && at.Before(p.Newest)
}

// Silence keeps people from being notified of alerts until a moment. An empty Rule or
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
	At         Instant        `json:"at"`
	Patrol     int64          `json:"patrol,omitempty"` // 0 for a pass that is no patrol
	Assessment Assessment     `json:"assessment"`
	Plan       Plan           `json:"plan"`
	Agents     []AgentRecord  `json:"agents,omitempty"` // what to remember of the agents seen
	Quotas     []AccountQuota `json:"quotas,omitempty"` // what agents tell anew of their plans
	Outbox     []Message      `json:"outbox,omitempty"`
}

// MessageKind is what a message for an agent is about.
type MessageKind string

// The kinds of message. News of alerts, for people, has none.
const (
	MessageRecoveryAttempt   MessageKind = "recovery_attempt"
	MessageRecoverySuccess   MessageKind = "recovery_success"
	MessageRecoveryFailed    MessageKind = "recovery_failed"
	MessageRecoveryExhausted MessageKind = "recovery_exhausted" // it is not recovered any more
	MessageSilent            MessageKind = "silent"             // it says and does nothing
	// MessageReply answers what a person said.
	MessageReply MessageKind = "reply"
	// MessageTold is what an agent or a person sends to people.
	MessageTold MessageKind = "told"
)

// Message is one thing that people, or one agent, are notified of, once.
type Message struct {
	ID       string      `json:"id"`              // the same for the same news: alert, transition and its instant
	Kind     MessageKind `json:"kind,omitempty"`  // of a message for an agent
	To       string      `json:"to,omitempty"`    // name of the agent it is for; @NAME: an answer to people in that place; empty: people
	About    string      `json:"about,omitempty"` // name of the agent it is about
	At       Instant     `json:"at"`
	Priority Priority    `json:"priority"`
	Subject  string      `json:"subject"` // one line
	Body     string      `json:"body,omitempty"`
	Alert    AlertKey    `json:"alert,omitzero"`
	AllClear bool        `json:"all_clear,omitempty"`
	Asks     bool        `json:"asks,omitempty"`    // it waits for a person's word: approve or deny
	Answers  string      `json:"answers,omitempty"` // of an answer: ID of what was said
	Thread   string      `json:"thread,omitempty"`  // and of the thread it was said in
}
