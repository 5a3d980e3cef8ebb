package runs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// What decide calls the actions on runs.
const (
	doRunStep    = "run-step"
	doPrepareRun = "prepare-run"
	doRemoveTree = "remove-worktree"
)

// parallelSteps is how many steps of a run are under way at once, unless the run says.
const parallelSteps = 4

// Advance returns what becomes of the runs in one pass: from what is remembered of
// them, what was seen, and what this very pass plans. Facts that are unknown or
// stale change nothing. When nothing changed since, nothing is changed.
func Advance(p fleet.Pass) fleet.Follows {
	a := newAdvance(p)
	if p.Past.Blind != "" {
		return a.out
	}
	for i := range p.Past.Runs {
		was := &p.Past.Runs[i]
		if !a.mayChange(was) {
			continue
		}
		run := was.Clone()
		a.run(&run)
		if !reflect.DeepEqual(*was, run) {
			a.out.Runs = append(a.out.Runs, run)
		}
	}
	a.out.Wake = a.out.Wake || len(a.out.Runs) > 0 || len(a.out.Given) > 0
	return a.out
}

// advance is one pass over the runs.
type advance struct {
	past    fleet.Past
	snap    fleet.Snapshot
	policy  fleet.Policy
	plan    fleet.Plan
	at      fleet.Instant
	facts   map[string]*fleet.RunFacts // only when they were seen lately
	agents  map[string]*fleet.Agent    // the same
	regs    map[string]*fleet.Registration
	orders  map[string]fleet.Order // as this pass leaves them
	records map[string]*fleet.ActionRecord
	answers map[string]*fleet.ActionRecord // by the order they answer
	lapsing map[string]bool                // schedules whose condition is seen to be false now
	out     fleet.Follows
	waits   []string // what the run at hand waits for
}

func newAdvance(p fleet.Pass) *advance {
	a := &advance{past: p.Past, snap: p.Snapshot, policy: p.Policy, plan: p.Plan, at: p.Snapshot.At,
		facts: map[string]*fleet.RunFacts{}, agents: map[string]*fleet.Agent{}, regs: map[string]*fleet.Registration{},
		orders: map[string]fleet.Order{}, records: map[string]*fleet.ActionRecord{}, answers: ledger.Answers(p.Past.Actions), lapsing: map[string]bool{}}
	if len(p.Past.Runs) == 0 {
		return a
	}
	a.index()
	return a
}

func (a *advance) index() {
	if a.snap.Runs.Fresh() {
		for i := range a.snap.Runs.Value {
			a.facts[a.snap.Runs.Value[i].ID] = &a.snap.Runs.Value[i]
		}
	}
	if a.snap.Agents.Fresh() {
		for i := range a.snap.Agents.Value {
			a.agents[a.snap.Agents.Value[i].Name] = &a.snap.Agents.Value[i]
		}
	}
	for i := range a.past.Registrations {
		a.regs[a.past.Registrations[i].Name] = &a.past.Registrations[i]
	}
	for _, o := range slices.Concat(a.past.Orders, a.plan.Orders) {
		a.orders[o.ID] = o
	}
	for _, s := range a.policy.Runs.Schedules {
		if s.Conditional() && s.Holds != nil && !*s.Holds {
			a.lapsing[s.Name] = true
		}
	}
	for i := range a.past.Actions {
		r := &a.past.Actions[i]
		a.records[r.ID] = r
	}
}

// mayChange says whether anything can become of a run in this pass. Of one that is
// over that is its last bill, what becomes of its worktree and of a reply, and that the condition
// that started it is false: a day has many, and each pass asks this of them all.
func (a *advance) mayChange(r *fleet.Run) bool {
	if s := r.Session; r.IsOver() && s != nil {
		reg := a.regs[s.Agent]
		return a.lapsing[r.Schedule] || r.Holding != "" || s.Answer == fleet.AnswerTold || s.Answer != "" && isFinal(r) || a.agents[s.Agent] != nil || s.Worktree != "" && s.Removal != removalDone ||
			reg != nil && reg.Run == r.ID && reg.Worktree != s.Worktree
	}
	return !r.IsOver() || a.lapsing[r.Schedule] || r.Holding != ""
}

// run carries one run on.
func (a *advance) run(r *fleet.Run) {
	a.waits = nil
	a.lapse(r)
	a.bill(r)
	a.filed(r)
	if r.IsOver() {
		a.followLock(r)
		a.closeReply(r)
		a.aftermath(r)
		return
	}
	a.followLock(r)
	if isUntouched(r) && a.heldBack(r) {
		return
	}
	a.sawSteps(r)
	a.replied(r)
	a.session(r)
	a.told(r)
	dependents(r, a.at)
	a.ready(r)
	a.conclude(r)
}

// isUntouched says whether nothing of the run was begun, or may be begun by this
// very pass.
func isUntouched(r *fleet.Run) bool {
	return r.Cancel == "" && !slices.ContainsFunc(r.Steps, func(s fleet.RunStep) bool { return s.State != fleet.StepWaiting || s.Attempt > 0 || s.By != "" })
}

// heldBack asks what only a run is asked of which nothing was begun: whether its
// formula is switched off, and whether the factory holds its own lock.
func (a *advance) heldBack(r *fleet.Run) bool {
	if slices.Contains(a.policy.Runs.Disabled, r.Formula) {
		ledger.SkipRun(r, "formula "+r.Formula+" is disabled", a.at)
		return true
	}
	if r.Lock == "" {
		return false
	}
	facts := a.facts[r.ID]
	if facts == nil {
		a.unlocked(r, fleet.GuardEvidence, "it was not looked yet whether somebody holds its lock")
		return true
	}
	holder, known := facts.Locked.Get()
	switch {
	case !known:
		a.unlocked(r, fleet.GuardEvidence, "it is not known whether somebody holds its lock: "+facts.Locked.Why())
	case holder != "":
		ledger.SkipRun(r, "its lock is held by "+fleet.Line(holder, 80), a.at)
	}
	return !known || holder != "" || a.awaitsLock(r, facts)
}

// ready lets steps begin whose needs are done, as many at once as the run allows.
// All prose is one session, and does not count.
func (a *advance) ready(r *fleet.Run) {
	most := cmp.Or(r.Parallel, parallelSteps)
	free := most
	for _, s := range r.Steps {
		if s.Do != fleet.StepProse && (s.State == fleet.StepReady || s.State == fleet.StepRunning) {
			free--
		}
	}
	var prose []*fleet.RunStep
	g := ledger.StepsOf(r)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.State != fleet.StepWaiting || g.Unmet(s) != "" || a.pauses(r, s) || a.held(r, s) {
			continue
		}
		switch {
		case s.Do == fleet.StepProse:
			prose = append(prose, s)
		case free <= 0:
			a.hold(r, s, fleet.HeldMove{Guard: fleet.GuardLimit, Held: fmt.Sprintf("%d of its steps at once is the most", most)})
		case s.Do == fleet.StepUses:
			a.use(r, s)
			free--
		default:
			ledger.SetStep(s, fleet.StepReady, s.Why, a.at)
			free--
		}
	}
	a.offer(r, g, prose)
}

func (a *advance) wait(format string, args ...any) {
	a.waits = append(a.waits, fleet.Line(fmt.Sprintf(format, args...), 300))
}

// conclude sums the steps up.
func (a *advance) conclude(r *fleet.Run) {
	if r.IsOver() {
		return // skipped as a whole
	}
	person, failed, skipped := "", "", ""
	over := true
	for _, s := range r.Steps {
		over = over && s.IsOver()
		if s.State == fleet.StepPerson && person == "" {
			person = "step " + s.ID + " needs a person: " + s.Why
		}
		if s.State == fleet.StepFailed && failed == "" {
			failed = "step " + s.ID + " failed: " + s.Why
		}
		if s.State == fleet.StepSkipped && skipped == "" {
			skipped = "step " + s.ID + " was skipped: " + s.Why
		}
	}
	switch {
	case over && failed == "":
		a.end(r, skipped)
	case over:
		a.end(r, failed)
	case person != "":
		r.State, r.Why = fleet.RunPerson, fleet.Line(person, 400)+kept(r)+a.refusedReply(r)
	default:
		r.State = fleet.RunOpen
		if r.Cancel == "" {
			r.Why = andAlso(a.waiting(r), a.lostLock(r))
		}
	}
}

// waiting names what the run waits for.
func (a *advance) waiting(r *fleet.Run) string {
	for _, s := range r.Steps {
		switch {
		case len(a.waits) > 0 || s.State != fleet.StepReady && s.State != fleet.StepWaiting:
		case s.State == fleet.StepReady:
			a.wait("step %s may begin", s.ID)
		case !s.NotBefore.IsZero() && a.at.Before(s.NotBefore):
			a.wait("step %s begins again at %s: %s", s.ID, s.NotBefore.Wall.UTC().Format("15:04:05"), s.Why)
		}
	}
	if len(a.waits) == 0 {
		return ""
	}
	return "waits: " + a.waits[0]
}

// end ends a run whose steps are all over.
func (a *advance) end(r *fleet.Run, failed string) {
	a.endSession(r, sessionLeft, "nothing is left to do")
	r.EndedAt = a.at
	switch {
	case r.Cancel != "":
		r.State, r.Why = fleet.RunCancelled, r.Why+kept(r)
	case failed != "":
		r.State, r.Why = fleet.RunFailed, fleet.Line(failed, 400)+kept(r)
	default:
		r.State, r.Why = fleet.RunDone, ""
	}
}

// kept names the worktree that is kept of a run.
func kept(r *fleet.Run) string {
	if r.Session == nil || r.Session.Keep == "" || r.Session.Worktree == "" {
		return ""
	}
	return "; its worktree is kept at " + r.Session.Worktree
}

// lapse notes that the condition which started the newest run of a schedule is
// false, so that it starts another one when it becomes true again.
func (a *advance) lapse(r *fleet.Run) {
	if a.lapsing[r.Schedule] && r.Lapsed.IsZero() && newestOf(a.past.Runs, r.Schedule, a.at).ID == r.ID {
		r.Lapsed = a.at
	}
}
