package runs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// The contract of a session, unless the formula says otherwise.
const (
	sessionTimeout = fleet.Duration(2 * time.Hour)    // without progress: the seed's 7200 s
	idleLooks      = 3                                // at its prompt without a phase
	lookSpacing    = fleet.Duration(30 * time.Second) // between two of them
	stopPatience   = 24 * time.Hour                   // a stop waits so long for the agent to be still
)

// How a session ended.
const (
	sessionPhase     = "phase"
	sessionIdle      = "idle"
	sessionTimedOut  = "timeout"
	sessionDeath     = "death"
	sessionCancelled = "cancelled"
	sessionPerson    = "person"
	sessionLeft      = "nothing left to do"
	sessionUnborn    = "not started"
)

// session carries on the one session that all prose of a run is worked on in.
func (a *advance) session(r *fleet.Run) {
	s := r.Session
	switch {
	case s == nil:
	case r.Cancel != "":
		a.endSession(r, sessionCancelled, r.Why)
	case isActive(s):
		a.follow(r)
	case slices.ContainsFunc(r.Steps, isOffered):
		a.startSession(r)
	}
}

func isActive(s *fleet.RunSession) bool { return s.Order != "" && s.End == "" }

// isOffered says whether a step is one that the agent may work on now.
func isOffered(s fleet.RunStep) bool {
	return s.Do == fleet.StepProse && (s.State == fleet.StepReady || s.State == fleet.StepRunning)
}

// offer gives prose to the agent whose needs are done. Before a model is launched
// for it, the host must have the memory; what needs no model never waits for that.
func (a *advance) offer(r *fleet.Run, g ledger.StepGraph, prose []*fleet.RunStep) {
	if len(prose) == 0 {
		return
	}
	s := r.Session
	if r.Mode == fleet.RunSteps || s == nil {
		for _, step := range prose {
			ledger.SetStep(step, fleet.StepPerson, "no agent works on this run: do it, then custos formula step done "+r.ID+" "+step.ID, a.at)
		}
		return
	}
	if !isActive(s) {
		if held := a.wantsMemory(r); held.Guard != "" {
			for _, step := range prose {
				a.hold(r, step, held)
			}
			return
		}
	}
	told := isActive(s) && s.Seen
	for _, step := range prose {
		ledger.SetStep(step, fleet.StepReady, "", a.at)
		if told {
			ledger.SetStep(step, fleet.StepRunning, "", a.at)
		}
	}
	if told && slices.ContainsFunc(prose, func(s *fleet.RunStep) bool { return awaitsOthers(g, s) }) {
		a.tell(r, fmt.Sprintf("step-%d.%d", position(r, prose[0]), s.Starts), readyText(r, prose))
	}
}

// awaitsOthers says whether a step needed something that the agent did not do
// itself, or a gate: of its own steps it knows what comes next.
func awaitsOthers(g ledger.StepGraph, s *fleet.RunStep) bool {
	return s.Gate != nil || slices.ContainsFunc(s.Needs, func(n string) bool { return g[n].Do != fleet.StepProse })
}

// wantsMemory is what holds back the launch of a model; the zero value: nothing does.
// When nothing was begun, a run that finds too little memory is skipped: its next one
// will do.
func (a *advance) wantsMemory(r *fleet.Run) (held fleet.HeldMove) {
	need := r.Session.Memory
	if need <= 0 {
		return held
	}
	free, known := a.snap.Host.Value.Memory.Available.Get()
	switch {
	case !a.snap.Host.Fresh() || !known:
		a.wait("it is not known how much memory is left")
		return a.lastWait(fleet.GuardEvidence)
	case free >= need:
		return held
	}
	a.wait("less than %d MiB of memory are available", need>>20)
	if held = a.lastWait(fleet.GuardGate); isUntouched(r) {
		ledger.SkipRun(r, held.Held, a.at)
	}
	return held
}

// lacksMemory says whether the session of a run is not started for want of memory.
func (a *advance) lacksMemory(r *fleet.Run) bool {
	held := a.wantsMemory(r)
	if held.Guard != "" {
		a.holdSession(r, held)
	}
	return held.Guard != ""
}

// startSession has the folder of the run made, and then an agent started.
func (a *advance) startSession(r *fleet.Run) {
	s := r.Session
	if s.End != "" {
		if !a.isLeft(r) {
			return
		}
		if s.Answer == "" && a.hasReply(r) { // to be told too, when a person had it go on otherwise
			ledger.DueReply(s)
		}
		renewSession(r)
	}
	if !a.isPrepared(r) || a.lacksMemory(r) {
		return
	}
	s.Asked, s.MovedAt = a.at, a.at
	if s.Answer == fleet.AnswerDue {
		s.Answer = fleet.AnswerSent
	}
	a.start(r, fleet.Order{Do: fleet.OrderSpawn, Spawn: registrationOf(r)})
	a.wait("its agent is being started")
}

// isLeft says whether the former agent of a run is gone, or is not being ended any
// more: two that write one phase file are not to work at once.
func (a *advance) isLeft(r *fleet.Run) bool {
	stop, open := a.orders[r.Session.Stop]
	if !open || stop.IsOver() {
		return true
	}
	if facts := a.facts[r.ID]; facts != nil {
		if lives, known := facts.Lives.Get(); known && !lives {
			return true
		}
	}
	a.wait("its former agent %s is being ended", r.Session.Agent)
	return false
}

// renewSession makes room for another session of the same run: another agent, and
// a prompt that says what was done by the former.
func renewSession(r *fleet.Run) {
	s := r.Session
	s.Agent = fmt.Sprintf("%s-%d", r.ID, s.Starts+1)
	s.Asked, s.MovedAt, s.PhaseAt, s.LookedAt, s.EndedAt = fleet.Instant{}, fleet.Instant{}, fleet.Instant{}, fleet.Instant{}, fleet.Instant{}
	s.Order, s.Seen, s.Phase, s.PhaseWhy, s.Looks, s.Recovered, s.Told = "", false, "", "", 0, 0, ""
	s.Stop, s.End, s.Worktree, s.Keep, s.Removal = "", "", "", "", ""
	r.Prepared = ""
	if s.Answer == fleet.AnswerSent { // the former session never told that it got it
		s.Answer = fleet.AnswerDue
	}
}

// start gives an order that starts the session, the next in its row.
func (a *advance) start(r *fleet.Run, o fleet.Order) {
	s := r.Session
	s.Starts++
	o.ID, o.Agent, o.By = fmt.Sprintf("%s-session-%d", r.ID, s.Starts), s.Agent, r.By
	s.Order = o.ID
	a.give(o)
}

// registrationOf returns the agent that works on a run, as it is to be.
func registrationOf(r *fleet.Run) *fleet.Registration {
	s := r.Session
	where := fleet.WhereTmux
	if r.Mode == fleet.RunHeadless {
		where = fleet.WhereHeadless
	}
	return &fleet.Registration{
		Name: s.Agent, Role: s.Role, Project: r.Project, Kind: s.Kind, Owner: fleet.OwnerCustos, Where: where,
		Argv: s.Argv, Env: s.Env, Set: settings(r), Dir: r.Work, Repo: s.Repo, Detached: s.Repo != "",
		Task: "formula " + r.Formula, Run: r.ID, Town: r.Town, Account: s.Account, Restart: fleet.RestartNever,
		Prompt: "Read the file " + r.Dir + "/prompt.md and do what it says, to its end.",
	}
}

// settings are the variables that an agent working on a run is given.
func settings(r *fleet.Run) []string {
	set := slices.Clone(r.Session.Set)
	for _, v := range [][2]string{{"CUSTOS_RUN_ID", r.ID}, {"CUSTOS_FORMULA", r.Formula}, {"PHASE_FILE", r.Dir + "/phase"}, {"PROJECT_REPO_ROOT", r.Work}} {
		if v[1] != "" && !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, v[0]+"=") }) {
			set = append(set, v[0]+"="+v[1])
		}
	}
	return set
}

// isPrepared says whether the folder of the run and its prompt are there.
func (a *advance) isPrepared(r *fleet.Run) bool {
	if r.Prepared == preparedDone {
		return true
	}
	for i := range a.plan.Actions {
		if do := &a.plan.Actions[i]; isPreparationOf(do, r) {
			r.Prepared = do.ID
		}
	}
	if r.Prepared == "" {
		a.wait("its folder is not made yet")
		return false
	}
	a.prepared(r)
	return r.Prepared == preparedDone
}

// isPreparationOf says whether an action makes the prompt of the run as it is now: one
// planned just before a reply came does not hold it.
func isPreparationOf(do *fleet.Action, r *fleet.Run) bool {
	t := do.Target.Step
	return do.Do == doPrepareRun && t != nil && t.Run.ID == r.ID && t.Run.Session != nil && t.Run.Session.Answer == r.Session.Answer
}

const preparedDone = "done"

// prepared reads what became of the action that makes the folder.
func (a *advance) prepared(r *fleet.Run) {
	rec, facts := a.records[r.Prepared], a.facts[r.ID]
	planned := slices.ContainsFunc(a.plan.Actions, func(do fleet.Action) bool { return do.ID == r.Prepared })
	switch {
	case rec == nil && planned, rec != nil && rec.Open():
		a.wait("its folder is being made")
	case rec == nil && facts == nil:
		a.wait("it cannot be told whether its folder is there")
	case rec == nil && facts.Ready, rec != nil && rec.Result != nil && (rec.Result.Status == fleet.ResultDone || rec.Result.Status == fleet.ResultUnneeded):
		r.Prepared = preparedDone
	case rec != nil && rec.Result != nil && rec.Result.Status == fleet.ResultFailed && r.Session.Answer == fleet.AnswerDue:
		a.unreadable(r, rec.Result.Why)
	case rec != nil && rec.Result != nil && rec.Result.Status == fleet.ResultFailed:
		a.failSession(r, sessionUnborn, "its folder could not be made: "+rec.Result.Why)
	default:
		r.Prepared = ""
	}
}

// give writes an order down, to be answered by the next pass.
func (a *advance) give(o fleet.Order) {
	o.At, o.State = a.at, fleet.OrderOpen
	if o.Spawn != nil {
		o.Spawn = ledger.Spawned(o, a.at)
	}
	a.orders[o.ID] = o
	a.out.Given = append(a.out.Given, o)
}

// tell sends a text to the agent, once it is idle; what says which of the texts of
// a run it is.
func (a *advance) tell(r *fleet.Run, what, text string) {
	id := fmt.Sprintf("%s-told-%s", r.ID, what)
	r.Session.Told, r.Session.MovedAt = id, a.at
	a.give(fleet.Order{ID: id, Do: fleet.OrderNudge, Agent: r.Session.Agent, By: fleet.ByCustos, Text: text})
}

func position(r *fleet.Run, s *fleet.RunStep) int {
	return 1 + slices.IndexFunc(r.Steps, func(o fleet.RunStep) bool { return o.ID == s.ID })
}

func readyText(r *fleet.Run, prose []*fleet.RunStep) string {
	var ids []string
	for _, s := range prose {
		ids = append(ids, s.ID)
	}
	return fmt.Sprintf("Run %s: what these steps needed is done, so go on with them: %s. They are described in %s/prompt.md.",
		r.ID, fleet.Line(strings.Join(ids, ", "), 1000), r.Dir)
}

// againText says to an agent that was started again what must not be repeated.
func againText(r *fleet.Run) string {
	var done, left []string
	for _, s := range r.Steps {
		switch {
		case s.State == fleet.StepDone:
			done = append(done, s.ID)
		case s.Do == fleet.StepProse && !s.IsOver():
			left = append(left, s.ID)
		}
	}
	return fmt.Sprintf("You work on run %s, ended in the middle of it and were started again. Done already, not to be repeated: %s. Left: %s. "+
		"What they are is described in %s/prompt.md, your notes are in %s/scratch.md. Look at what is there before you change anything, then go on, and end by the phase file %s/phase.",
		r.ID, stepList(done), stepList(left), r.Dir, r.Dir, r.Dir)
}

func stepList(ids []string) string {
	if len(ids) == 0 {
		return "nothing"
	}
	return fleet.Line(strings.Join(ids, ", "), 1000)
}
