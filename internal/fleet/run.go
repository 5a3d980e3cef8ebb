package fleet

import (
	"slices"
	"strings"
)

// RunState is where the run of a formula is in its life.
type RunState string

// The states of a run.
const (
	RunOpen      RunState = "running"
	RunPerson    RunState = "needs a person" // not over: a step waits for one
	RunDone      RunState = "done"
	RunFailed    RunState = "failed"
	RunSkipped   RunState = "skipped" // a guard held it back before anything was begun: locked, disabled, low memory
	RunCancelled RunState = "cancelled"
)

// StepState is where one step of a run is.
type StepState string

// The states of a step.
const (
	StepWaiting StepState = "waiting" // for its needs
	StepReady   StepState = "ready"   // may begin, not before NotBefore
	StepRunning StepState = "running"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepSkipped StepState = "skipped"
	StepPerson  StepState = "needs a person" // in doubt, or escalated
)

// StepDo is what a step is made of.
type StepDo string

// What a step is made of.
const (
	StepRun   StepDo = "run"   // a command of its own
	StepUses  StepDo = "uses"  // something built in
	StepProse StepDo = "prose" // given to an agent
)

// RunMode is how the prose of a formula is worked on.
type RunMode string

// The modes of a run.
const (
	RunSteps    RunMode = "steps"    // no agent: a step of prose needs a person
	RunInTmux   RunMode = "session"  // one agent session in a terminal
	RunHeadless RunMode = "headless" // one agent without a terminal, one shot
)

// Run is a formula being carried out: a record with a row for each step. It is
// made once, from a formula that was rendered, and changed by package ledger only.
type Run struct {
	ID       string            `json:"id"` // letters, digits, '.', '_' and '-'; a scheduled one is named by its schedule and slot
	Formula  string            `json:"formula"`
	Project  string            `json:"project,omitempty"`
	By       string            `json:"by"` // who asked; ByCustos for a schedule
	At       Instant           `json:"at"`
	Vars     map[string]string `json:"vars,omitempty"` // data: they reach commands as CUSTOS_VAR_name and as whole arguments
	Mode     RunMode           `json:"mode"`
	Parallel int               `json:"parallel,omitempty"` // steps at once; 0: 4
	Dir      string            `json:"dir"`                // the run's own folder: phase, scratch.md, prompt.md, steps
	Work     string            `json:"work,omitempty"`     // where its steps run: the project's folder
	Lock     string            `json:"lock,omitempty"`     // a factory's own pid lock: a live holder means skip; held while the run goes on
	Source   string            `json:"source,omitempty"`   // file of the formula, for people
	Town     bool              `json:"town,omitempty"`     // its formula is one of Gas Town: gt and bd are in its PATH
	Session  *RunSession       `json:"session,omitempty"`  // nil: no step needs an agent
	Steps    []RunStep         `json:"steps"`
	Schedule string            `json:"schedule,omitempty"` // that started it
	Slot     Instant           `json:"slot,omitzero"`      // the moment it was due
	State    RunState          `json:"state"`
	Why      string            `json:"why,omitempty"`
	Prepared string            `json:"prepared,omitempty"` // ID of the action that made its folder; "done" when it is there
	Holding  string            `json:"holding,omitempty"`  // ID of the action that took its lock last; "": it is not to be given back
	Cancel   string            `json:"cancel,omitempty"`   // who cancelled it
	Lapsed   Instant           `json:"lapsed,omitzero"`    // when the condition (When) of its schedule was seen false after it began
	EndedAt  Instant           `json:"ended_at,omitzero"`
	MicroUSD int64             `json:"micro_usd,omitempty"` // money its agent reported, in millionths of a dollar
	Tokens   int64             `json:"tokens,omitempty"`
	Revision int64             `json:"revision,omitempty"` // counts the changes of the record; the store's own
	Queue    string            `json:"queue,omitempty"`    // of those that schedules begin, one of a queue runs at a time
	Event    int64             `json:"event,omitempty"`    // newest event of the log that it stands for: its schedule goes on after it
	Digest   string            `json:"digest,omitempty"`   // of the definition it was made from: that of a plug-in may change while it runs
}

// RunStep is one step: what it is, and what became of it.
type RunStep struct {
	ID      string            `json:"id"`
	Title   string            `json:"title,omitempty"`
	Needs   []string          `json:"needs,omitempty"`
	Do      StepDo            `json:"do"`
	Argv    []string          `json:"argv,omitempty"`
	Script  string            `json:"script,omitempty"` // run by /bin/sh; values reach it by its environment only
	Uses    string            `json:"uses,omitempty"`
	With    map[string]string `json:"with,omitempty"`
	Text    string            `json:"text,omitempty"` // the prose
	Vars    map[string]string `json:"vars,omitempty"` // of this step alone (of its loop), beside those of the run
	Env     []string          `json:"env,omitempty"`  // names of variables passed on
	Dir     string            `json:"dir,omitempty"`
	Timeout Duration          `json:"timeout,omitempty"` // 0: one hour
	Retries int               `json:"retries,omitempty"`
	Backoff Duration          `json:"backoff,omitempty"` // before the first retry, doubled each time; 0: 10 s
	Safe    bool              `json:"safe,omitempty"`    // may be repeated after a crash
	Gate    *Gate             `json:"gate,omitempty"`    // that it waits for once its needs are done, as the formula has it; Timeout: how long a timer waits, after which another is overdue
	Moot    bool              `json:"moot,omitempty"`    // in doubt, it has failed and no person is asked: its schedule begins another run

	State     StepState `json:"state"`
	Why       string    `json:"why,omitempty"`
	Attempt   int       `json:"attempt,omitempty"` // from 1
	Since     Instant   `json:"since,omitzero"`    // of this state
	NotBefore Instant   `json:"not_before,omitzero"`
	Action    string    `json:"action,omitempty"` // ID of the action that starts this attempt
	End       string    `json:"end,omitempty"`    // why its processes are to be ended: time out, cancelled, left behind
	Patrol    int64     `json:"patrol,omitempty"` // number of the patrol it awaits
	Awaits    string    `json:"awaits,omitempty"` // key of the gate that it waits for; "passed": no more
	Exit      *int      `json:"exit,omitempty"`
	Output    string    `json:"output,omitempty"`
	Note      string    `json:"note,omitempty"` // of who reported it
	By        string    `json:"by,omitempty"`   // who reported it

	Report string     `json:"report,omitempty"` // file in Work that it says in which tests failed; ReportOutput: what it prints
	Tests  TestReport `json:"tests,omitzero"`   // what that said of this attempt
}

// ReportOutput is the report of a step that writes it to its standard output.
const ReportOutput = "-"

// TestReport is what the report of a step says of the tests that it ran. Names are untrusted text.
type TestReport struct {
	Ran    int      `json:"ran,omitempty" help:"cases in it"`
	Failed []string `json:"failed,omitempty" help:"names of tests that failed, 200 at most"`
	More   int      `json:"more,omitempty" help:"how many more failed"`
	Flaky  []string `json:"flaky,omitempty" help:"names of tests that failed, and passed when they were tried again in the same run"`
	Why    string   `json:"why,omitempty" help:"why it, or the rest of it, was not read"`
}

// Whole says whether all of the report is known.
func (t TestReport) Whole() bool { return t.Why == "" && t.More == 0 }

// RunSession is the agent session that a run's prose is worked on in.
type RunSession struct {
	// As the formula has it.
	Agent     string   `json:"agent"` // name of the agent: the run's own
	Kind      string   `json:"kind"`
	Argv      []string `json:"argv,omitempty"`
	Env       []string `json:"env,omitempty"`
	Set       []string `json:"set,omitempty"` // variables given to it, NAME=value, beside those of every run: never secrets
	Role      string   `json:"role,omitempty"`
	Account   string   `json:"account,omitempty"`
	Repo      string   `json:"repo,omitempty"`     // whose worktree it works in, detached at HEAD; empty: it works in Work
	Memory    int64    `json:"memory,omitempty"`   // bytes that must be available to launch a model; 0: not asked
	Timeout   Duration `json:"timeout,omitempty"`  // wall time since MovedAt; 0: 2 h, the seed's
	Context   []string `json:"context,omitempty"`  // files put into the prompt
	Shown     []string `json:"shown,omitempty"`    // what is seen when the prompt is written, and put into it: preflight, findings
	Standing  string   `json:"standing,omitempty"` // text that goes into the prompt as it is: forge reference, project's context
	Graph     bool     `json:"graph,omitempty"`    // put the structural graph of the project into the prompt
	Recover   int      `json:"recover"`            // how often a dead session is started again; the contract's is 1
	Reply     string   `json:"reply,omitempty"`    // file of a person's reply to an escalation, under the formula's name; see Run.ReplyFiles
	IdleLooks int      `json:"idle_looks"`         // at the prompt without a phase, before it is given up; the contract's is 3

	// As it went.
	Order     string  `json:"order,omitempty"`   // that started it last
	Starts    int     `json:"starts,omitempty"`  // how many orders started it, or a former session of the run
	Asked     Instant `json:"asked,omitzero"`    // when it was first to start; not changed by a recovery
	Seen      bool    `json:"seen,omitempty"`    // the agent was seen alive
	MovedAt   Instant `json:"moved_at,omitzero"` // since when its time counts: its agent was seen, or had something to wait for
	Phase     string  `json:"phase,omitempty"`   // last one read: done, failed, …
	PhaseWhy  string  `json:"phase_why,omitempty"`
	PhaseAt   Instant `json:"phase_at,omitzero"`
	Looks     int     `json:"looks,omitempty"` // in a row that found it idle at its prompt without a phase
	LookedAt  Instant `json:"looked_at,omitzero"`
	Recovered int     `json:"recovered,omitempty"`
	Told      string  `json:"told,omitempty"` // order of the last nudge about steps that became ready
	Stop      string  `json:"stop,omitempty"` // order that ends it
	End       string  `json:"end,omitempty"`  // how it ended: phase, idle, timeout, death, cancelled, person, nothing left to do
	EndedAt   Instant `json:"ended_at,omitzero"`
	Worktree  string  `json:"worktree,omitempty"` // it worked in
	Keep      string  `json:"keep,omitempty"`     // why the worktree is kept
	// Billed is the instance whose bill is added up now; what those before it cost
	// is in CostBefore (millionths of a dollar) and TokensBefore.
	Billed       string `json:"billed,omitempty"`
	CostBefore   int64  `json:"cost_before,omitempty"`
	TokensBefore int64  `json:"tokens_before,omitempty"`
	Removal      string `json:"removal,omitempty"` // ID of the action that removes it; "done" when it is gone
	// What a person was asked last by PHASE:escalate, and how far the reply is.
	Asks    string   `json:"asks,omitempty"`
	AsksAt  Instant  `json:"asks_at,omitzero"`
	Answers int      `json:"answers,omitempty"` // replies so far: the number of the newest
	Answer  Answered `json:"answer,omitempty"`
	Filing  string   `json:"filing,omitempty"` // ID of the action that files it
}

// Answered is how far the newest reply of a person is.
type Answered string

// The ways of a reply. The zero value: there is none, or it is filed.
const (
	AnswerDue  Answered = "due"  // it goes into the prompt of the next session
	AnswerSent Answered = "sent" // that session is being started
	AnswerTold Answered = "told" // that prompt was acknowledged: it is to be filed
)

// IsOver says whether nothing more becomes of the run.
func (r Run) IsOver() bool {
	return r.State == RunDone || r.State == RunFailed || r.State == RunSkipped || r.State == RunCancelled
}

// Step returns the step of that name, to be changed in place; nil when there is none.
func (r *Run) Step(id string) *RunStep {
	for i := range r.Steps { // where they are: a step is large, and a run may have thousands
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

// Flight is what runs of one formula and project share: one of them at a time.
func (r Run) Flight() string { return r.Formula + "\x00" + r.Project }

// IsOver says whether nothing more becomes of the step.
func (s RunStep) IsOver() bool {
	return s.State == StepDone || s.State == StepFailed || s.State == StepSkipped
}

// Clone returns a copy that shares nothing that package ledger changes.
func (r Run) Clone() Run {
	r.Steps = slices.Clone(r.Steps)
	if r.Session != nil {
		s := *r.Session
		r.Session = &s
	}
	return r
}

// RunFacts is a run as a fact: what its record says (those that are not over, or
// ended within a day), and, while it is open, what is seen of it from outside: its
// folder, and the processes of its steps. What was not there yet is the zero
// value; what could not be read is unknown.
type RunFacts struct {
	ID      string   `json:"id" help:"its name"`
	Formula string   `json:"formula" help:"what is run"`
	Project string   `json:"project,omitempty" help:"for which project"`
	State   RunState `json:"state" help:"running, needs a person, done, failed, skipped or cancelled"`
	Why     string   `json:"why,omitempty" help:"why it is so"`
	Waits   string   `json:"waits,omitempty" help:"the steps that wait for a person"`
	Agent   string   `json:"agent,omitempty" help:"the agent that works on its prose"`
	Kept    string   `json:"kept,omitempty" help:"the worktree that is kept of it, and why"`
	Age     Duration `json:"age" help:"time since it began"`
	Ended   Duration `json:"ended,omitempty" help:"time since it ended; 0s while it has not"`
	Later   RunState `json:"later,omitempty" help:"the state of the newest run of this formula and project that began after it; empty when there is none"`

	Ready  bool         `json:"ready" help:"whether its folder and its prompt are there"`
	Phase  Leaf[Phrase] `json:"phase" help:"what its agent wrote into its phase file"`
	Locked Leaf[string] `json:"locked" help:"who else holds the factory's own lock; empty when no one does"`
	Held   Leaf[Hold]   `json:"held" help:"whether the factory's own lock is held for it: ours, left (by a Custos that has ended), or empty"`
	Lives  Leaf[bool]   `json:"lives" help:"whether the agent of its session runs"`
	Reply  Leaf[bool]   `json:"reply" help:"whether a person's reply to an escalation waits"`
	Steps  []StepFacts  `json:"steps,omitempty" help:"the commands of its open steps, as they are seen"`
}

// Hold is what the factory's lock is to a run.
type Hold string

// The holds. The zero value: there is no lock, or it is another's.
const (
	HoldOurs Hold = "ours" // placed for this run, and names us
	HoldLeft Hold = "left" // placed for this run by a Custos that has ended
)

// Phrase is a phase as an agent wrote it down.
type Phrase struct {
	Word   string  `json:"word,omitempty" help:"done, failed, escalate, merged, crashed, awaiting_ci, awaiting_review, else as it stands; empty when nothing was written in this run"`
	Reason string  `json:"reason,omitempty" help:"the rest of that line, or the second line"`
	At     Instant `json:"at,omitzero" help:"when it was written"`
}

// StepFacts is what is seen of one attempt at a step. A step is started under
// custos-shim, so that its end is known even when Custos was not there.
type StepFacts struct {
	Step    string      `json:"step" help:"the step's name"`
	Attempt int         `json:"attempt" help:"which attempt, from 1"`
	State   ProcState   `json:"state" help:"none, running, ended, failed (nothing ran) or in doubt" unless:"unknown"`
	Why     string      `json:"why,omitempty" help:"what is to be said of that"`
	Process ProcessID   `json:"process,omitzero" help:"its process; pid 0 when there never was one"`
	Status  Leaf[int]   `json:"status" help:"its exit status, once it ended by itself"`
	Signal  Leaf[int]   `json:"signal" help:"the signal that ended it"`
	At      Instant     `json:"at,omitzero" help:"when it ended"`
	Left    []ProcessID `json:"left,omitempty" help:"processes that it left behind, alive"`
	Output  string      `json:"output,omitempty" help:"the file that holds what it printed"`
	Tests   TestReport  `json:"tests,omitzero" help:"what its report says of the tests it ran, where it has one and has ended"`
}

// ProcState is what is known of the process of a step.
type ProcState string

// The states of the process of a step.
const (
	ProcNone    ProcState = "none" // nothing was started: certain
	ProcRunning ProcState = "running"
	ProcEnded   ProcState = "ended"
	ProcFailed  ProcState = "failed"   // it could not be started: nothing ran
	ProcInDoubt ProcState = "in doubt" // it was started, and how it ended was not seen
	ProcUnknown ProcState = "unknown"  // it is not known now
)

// StepTarget is the target of an action on a step: the run as it is, and which.
type StepTarget struct {
	Run     Run    `json:"run"`
	Step    string `json:"step,omitempty"` // "" for an action on the run's folder
	Attempt int    `json:"attempt,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Schedule is when a formula runs by itself. Exactly one of Every, Cron, On, When
// and Check is set, or Rest alone. Rest with When or Check: again so long after
// the end, while it holds.
type Schedule struct {
	Name    string   `json:"name"` // unique; part of the IDs of its runs
	Every   Duration `json:"every,omitempty"`
	Cron    string   `json:"cron,omitempty"`   // five fields, in Zone
	Zone    string   `json:"zone,omitempty"`   // IANA name; "": UTC
	Rest    Duration `json:"rest,omitempty"`   // so long after the last run of its formula ended, however
	On      string   `json:"on,omitempty"`     // alert:RULE, run:FORMULA:STATE, startup, patrol, trigger:NAME, log:KIND of event
	When    string   `json:"when,omitempty"`   // CEL over host, agents, …: each time it becomes true
	Check   []string `json:"check,omitempty"`  // a command that ends with 0: each time it comes to do so
	Holds   *bool    `json:"holds,omitempty"`  // When or Check, as of this pass; nil: not known
	Event   int64    `json:"event,omitempty"`  // newest event of the log that On means, as of this pass; with Mark, of the log at all
	Jitter  Duration `json:"jitter,omitempty"` // at most so much later; the same for the same slot
	Run     Run      `json:"run"`              // what is to be started, without ID, At and Slot
	Hosts   Hosts    `json:"hosts,omitempty"`  // which of those that share a hub run it; "": each
	Broken  string   `json:"broken,omitempty"` // why it cannot run: the formula cannot be read
	Enabled bool     `json:"enabled"`
	// Mark has it written down when it was first seen, as a run that is over: what
	// happens from then on counts, also what happens while Custos is down.
	Mark bool `json:"mark,omitempty"`
	// Ran is when it ran last, by another's records: written down, once, as a run
	// that is over, when it has none here.
	Ran Instant `json:"ran,omitzero"`
}

// Hosts says which of the hosts of a hub do something.
type Hosts string

// The hosts that do something.
const (
	HostsEach Hosts = "each" // and so is the zero value
	HostsOne  Hosts = "one"  // the one that claims it first
)

// Conditional says whether it is due while something holds.
func (s Schedule) Conditional() bool { return s.When != "" || len(s.Check) > 0 }

// Subject is what a schedule is called where people read of it: a plugin by its own name.
func (s Schedule) Subject() Subject {
	if name, is := PluginOf(s.Run.Formula); is {
		return Subject{KindPlugin, name}
	}
	return Subject{KindSchedule, s.Name}
}

// Words says in words when a schedule is due.
func (s Schedule) Words() string {
	out := ""
	switch {
	case s.Every != 0:
		out = "every " + s.Every.String()
	case len(s.Check) > 0:
		out = "when " + strings.Join(s.Check, " ") + " ends with 0"
	case s.Rest != 0 && s.When == "":
		out = s.Rest.String() + " after its end"
	case s.Cron != "":
		out = strings.TrimSpace("cron " + s.Cron + " " + s.Zone)
	case s.On != "":
		out = "on " + s.On
	case s.When != "":
		out = "when " + s.When
	}
	if s.Jitter > 0 {
		out += ", up to " + s.Jitter.String() + " later"
	}
	if s.Hosts == HostsOne {
		out += ", on one host"
	}
	return Line(out, 200)
}

// RunPolicy is what Custos may do about formulas.
type RunPolicy struct {
	Schedules []Schedule `json:"schedules,omitempty"`
	Disabled  []string   `json:"disabled,omitempty"` // formulas that a person switched off
}
