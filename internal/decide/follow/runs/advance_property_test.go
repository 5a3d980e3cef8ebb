package runs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/decide/follow/registry"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
)

// town is a small world that runs of formulas run in: what decide would plan, what
// actions do, processes under their shims, and an agent. Its truth is seen through
// facts that may be blind.
type town struct {
	t       rapid.TB
	draw    *rapid.T // nil in a kind world
	now     fleet.Instant
	past    fleet.Past
	policy  fleet.Policy
	procs   map[string]*fleet.StepFacts // by run/step/attempt
	begun   map[string]int
	agents  map[string]*fleet.Agent
	phase   map[string]fleet.Phrase
	ready   map[string]bool
	replies map[string]*replies // of each run
	actions int
	benign  bool
	unread  bool          // the phases of runs cannot be read
	looked  fleet.Instant // when runs were looked at last; zero: just now
	last    fleet.Follows
	patrol  bool
}

func newTown(t rapid.TB, runs ...fleet.Run) *town {
	w := &town{t: t, now: at(0), procs: map[string]*fleet.StepFacts{}, begun: map[string]int{}, agents: map[string]*fleet.Agent{}, phase: map[string]fleet.Phrase{}, ready: map[string]bool{}, replies: map[string]*replies{}}
	w.past.StartedAt = at(-time.Hour)
	for _, r := range runs {
		taken, err := ledger.TakeRun(w.past, w.policy.Runs, r, w.now)
		if err != nil {
			t.Fatal(err)
		}
		w.past.Runs = append(w.past.Runs, taken)
		w.replies[r.ID] = &replies{}
	}
	return w
}

func (w *town) chance(of int, what string) bool {
	return !w.benign && rapid.IntRange(1, of).Draw(w.draw, what) == 1
}

func keyOf(run, step string, attempt int) string { return fmt.Sprintf("%s/%s/%d", run, step, attempt) }

// seen is what probes tell of the truth.
func (w *town) seen() fleet.Snapshot {
	s := fleet.Snapshot{At: w.now}
	s.Runs.Status, s.Agents.Status, s.Host.Status = fleet.StatusOK, fleet.StatusOK, fleet.StatusOK
	s.Runs.At = w.looked
	if w.patrol {
		s.Patrol = w.past.Patrol + 1
	}
	s.Host.Value.Memory.Available = fleet.Known(int64(4 << 30))
	if w.chance(8, "memory") {
		s.Host.Value.Memory.Available = rapid.SampledFrom([]fleet.Leaf[int64]{fleet.Known(int64(1)), {}}).Draw(w.draw, "free")
	}
	for _, r := range w.past.Runs {
		f := fleet.RunFacts{ID: r.ID, State: r.State, Ready: w.ready[r.ID], Phase: fleet.Known(w.phase[r.ID]), Locked: fleet.Known(""), Reply: fleet.Known(w.replies[r.ID].lies)}
		if r.Session != nil {
			a := w.agents[r.Session.Agent]
			f.Lives = fleet.Known(a != nil && a.Process.PID != 0)
		}
		for _, step := range r.Steps {
			for n := max(step.Attempt, 1); n <= step.Attempt+1; n++ {
				if p := w.procs[keyOf(r.ID, step.ID, n)]; p != nil {
					f.Steps = append(f.Steps, *p)
				} else {
					f.Steps = append(f.Steps, fleet.StepFacts{Step: step.ID, Attempt: n, State: fleet.ProcNone})
				}
				if w.chance(20, "cannot tell") {
					f.Steps[len(f.Steps)-1] = fleet.StepFacts{Step: step.ID, Attempt: n, State: fleet.ProcUnknown}
				}
			}
		}
		if w.unread || w.chance(20, "phase unread") {
			f.Phase = fleet.Leaf[fleet.Phrase]{}
		}
		s.Runs.Value = append(s.Runs.Value, f)
	}
	for _, a := range w.agents {
		s.Agents.Value = append(s.Agents.Value, *a)
	}
	if w.chance(10, "runs blind") {
		s.Runs.Status = rapid.SampledFrom([]fleet.Status{fleet.StatusUnknown, fleet.StatusPending, fleet.StatusStale}).Draw(w.draw, "how")
	}
	if w.chance(10, "agents blind") {
		s.Agents.Status = fleet.StatusUnknown
	}
	return s
}

// plan is decide's, as far as it matters here.
func (w *town) plan(s fleet.Snapshot) (p fleet.Plan) {
	act := func(do string, r fleet.Run, step string, attempt int) {
		if slices.ContainsFunc(w.past.Actions, func(a fleet.ActionRecord) bool {
			return a.Open() && a.Do == do && a.Target.Step.Run.ID == r.ID && a.Target.Step.Step == step
		}) || w.chance(6, "held by a guard") {
			return
		}
		w.actions++
		p.Actions = append(p.Actions, fleet.Action{ID: fmt.Sprint("act-", w.actions), Do: do, Target: fleet.Target{Step: &fleet.StepTarget{Run: r, Step: step, Attempt: attempt}}})
	}
	for i, r := range w.past.Runs {
		offered := false
		for _, step := range r.Steps {
			offered = offered || step.Do == fleet.StepProse && step.State == fleet.StepReady
			switch {
			case step.End != "":
				act("end-step", r, step.ID, step.Attempt)
			case step.State == fleet.StepReady && step.Do == fleet.StepRun && s.Runs.Fresh() && w.isNone(s.Runs.Value[i], step):
				act(doRunStep, r, step.ID, step.Attempt+1)
			}
		}
		if offered && r.Prepared == "" {
			act(doPrepareRun, r, "", 0)
		}
		if r.Session != nil && r.Session.Answer == fleet.AnswerTold && r.Session.Filing == "" {
			act(doFileReply, r, "", 0)
		}
	}
	for _, o := range w.past.Orders {
		if o.State == fleet.OrderOpen && o.Action == "" && !w.chance(4, "queued") {
			if w.chance(12, "refused") {
				o.State, o.Why = fleet.OrderRefused, "a guard"
			} else {
				w.actions++
				o.Action = fmt.Sprint("act-", w.actions)
				p.Actions = append(p.Actions, fleet.Action{ID: o.Action, Do: o.Do.Action(), Order: o.ID, By: o.By, Target: fleet.Target{Registration: o.Spawn}, Subject: fleet.Subject{Kind: fleet.KindAgent, Name: o.Agent}})
			}
			p.Orders = append(p.Orders, o)
		}
	}
	return p
}

func (w *town) isNone(f fleet.RunFacts, step fleet.RunStep) bool {
	return slices.ContainsFunc(f.Steps, func(p fleet.StepFacts) bool {
		return p.Step == step.ID && p.Attempt == step.Attempt+1 && p.State == fleet.ProcNone
	})
}

// pass is one turn of the cycle.
func (w *town) pass() {
	s := w.seen()
	plan := w.plan(s)
	w.skips(s, plan)
	p := Advance(fleet.Pass{Past: w.past, Snapshot: s, Policy: w.policy, Plan: plan})
	w.check(p)
	w.commit(s, plan, p)
	again := Advance(fleet.Pass{Past: w.past, Snapshot: s, Policy: w.policy})
	// A run that changed may go on in the next pass, but not for ever.
	for i := 0; len(again.Runs)+len(again.Given) > 0; i++ {
		if i > 20 {
			w.t.Fatalf("nothing changes, and yet: %+v %+v", again.Runs, again.Given)
		}
		w.check(again)
		w.commit(s, fleet.Plan{}, again)
		again = Advance(fleet.Pass{Past: w.past, Snapshot: s, Policy: w.policy})
	}
	w.last, w.patrol = p, p.Patrol || again.Patrol
	w.act()
}

// skips: of a run that a pass does not look at, nothing would become.
func (w *town) skips(s fleet.Snapshot, plan fleet.Plan) {
	a := newAdvance(fleet.Pass{Past: w.past, Snapshot: s, Policy: w.policy, Plan: plan})
	for i := range w.past.Runs {
		was := &w.past.Runs[i]
		if a.mayChange(was) {
			continue
		}
		is := was.Clone()
		if a.run(&is); !reflect.DeepEqual(*was, is) {
			w.t.Fatalf("run %s is not looked at, and would change: %+v to %+v", was.ID, *was, is)
		}
	}
}

// check holds what a pass may never do.
func (w *town) check(p fleet.Follows) {
	for _, is := range p.Runs {
		was := w.run(is.ID)
		busy := 0
		for i, step := range is.Steps {
			old := was.Steps[i]
			if step.State == fleet.StepReady && old.State != fleet.StepReady || step.State == fleet.StepRunning && old.State == fleet.StepWaiting {
				if n := ledger.StepsOf(was).Unmet(&step); n != "" && ledger.StepsOf(&is).Unmet(&step) != "" {
					w.t.Fatalf("step %s may begin without %s", step.ID, n)
				}
			}
			if step.Do != fleet.StepProse && (step.State == fleet.StepReady || step.State == fleet.StepRunning) {
				busy++
			}
			if old.IsOver() && step.State != old.State {
				w.t.Fatalf("step %s was %s and is %s", step.ID, old.State, step.State)
			}
		}
		if busy > is.Parallel && is.Parallel > 0 {
			w.t.Fatalf("%d steps at once", busy)
		}
		if was.IsOver() && was.State != is.State {
			w.t.Fatalf("run %s was %s and is %s", is.ID, was.State, is.State)
		}
		if is.IsOver() && slices.ContainsFunc(is.Steps, func(s fleet.RunStep) bool { return !s.IsOver() }) {
			w.t.Fatalf("run %s is %s, and its steps are not: %+v", is.ID, is.State, is.Steps)
		}
	}
}

func (w *town) run(id string) *fleet.Run {
	i := slices.IndexFunc(w.past.Runs, func(r fleet.Run) bool { return r.ID == id })
	return &w.past.Runs[i]
}

func (w *town) commit(s fleet.Snapshot, plan fleet.Plan, p fleet.Follows) {
	regs, _ := registry.Settle(w.past, s, plan)
	w.past.Registrations = merge(slices.Clone(w.past.Registrations), regs)
	for _, o := range plan.Orders {
		i := slices.IndexFunc(w.past.Orders, func(old fleet.Order) bool { return old.ID == o.ID })
		w.past.Orders[i] = o
	}
	for _, o := range p.Given {
		if slices.ContainsFunc(w.past.Orders, func(old fleet.Order) bool { return old.ID == o.ID }) {
			w.t.Fatalf("order %s is given twice", o.ID)
		}
		if err := ledger.CheckOrder(o); err != nil {
			w.t.Fatal(err)
		}
		w.past.Orders = append(w.past.Orders, o)
	}
	w.past.Orders = slices.DeleteFunc(slices.Clone(w.past.Orders), fleet.Order.IsOver)
	for _, is := range p.Runs {
		*w.run(is.ID) = is
	}
	w.past.Runs = slices.Clone(w.past.Runs)
	for _, a := range plan.Actions {
		w.past.Actions = append(w.past.Actions, fleet.ActionRecord{Action: a, Stage: fleet.StagePlanned, PlannedAt: w.now})
	}
	if s.Patrol > 0 {
		w.past.Patrol, w.past.PatrolAt = s.Patrol, w.now
	}
}

// act carries open actions on, or lets a crash take them.
func (w *town) act() {
	w.past.Actions = slices.Clone(w.past.Actions)
	for i := range w.past.Actions {
		rec := &w.past.Actions[i]
		if !rec.Open() || w.chance(3, "not yet") {
			continue
		}
		result := &fleet.Result{ActionID: rec.ID, Do: rec.Do, Status: fleet.ResultDone}
		switch {
		case w.chance(8, "held back"):
			result.Status, result.Unbegun, result.Why = fleet.ResultRefused, true, "frozen"
		case w.chance(12, "failed"):
			result.Status, result.Why = fleet.ResultFailed, "the disk is full"
		default:
			w.do(rec)
			if w.chance(10, "crash after it") {
				result.Status, result.Why = fleet.ResultInDoubt, "Custos was killed"
			}
		}
		rec.Stage, rec.Result = fleet.StageEnded, result
		w.past.Orders = slices.Clone(w.past.Orders)
		for j := range w.past.Orders {
			if o := &w.past.Orders[j]; o.ID == rec.Order {
				if *o = o.After(*result); o.State == fleet.OrderQueued {
					o.State = fleet.OrderDone // decide, by what is seen
				}
			}
		}
	}
	w.past.Orders = slices.DeleteFunc(w.past.Orders, fleet.Order.IsOver)
}

func (w *town) do(rec *fleet.ActionRecord) {
	switch rec.Do {
	case doPrepareRun:
		w.ready[rec.Target.Step.Run.ID] = true
		w.takes(rec.Target.Step.Run)
	case doFileReply:
		if said := w.replies[rec.Target.Step.Run.ID]; said.taken {
			said.taken, said.done = false, said.done+1
		}
	case doRunStep:
		w.begin(rec.Target.Step)
	case "end-step":
		if p := w.procs[keyOf(rec.Target.Step.Run.ID, rec.Target.Step.Step, rec.Target.Step.Attempt)]; p != nil {
			p.Left = nil
			if p.State == fleet.ProcRunning {
				p.State, p.Signal = fleet.ProcEnded, fleet.Known(15)
			}
		}
	case "spawn", "recover":
		w.launch(rec)
	case "stop":
		if a := w.agents[rec.Subject.Name]; a != nil && a.Process.PID != 0 {
			w.die(a, fleet.Exit{Status: fleet.Known(0), Asked: rec.By})
		}
	}
}

// takes is what an agent's prompt is made from.
func (w *town) takes(r fleet.Run) {
	said := w.replies[r.ID]
	switch {
	case r.Session.Answer != fleet.AnswerDue || said.taken:
	case !said.lies:
		w.t.Fatalf("run %s is to be told a reply, and there is none", r.ID)
	default:
		said.lies, said.taken = false, true
	}
}

// writes: a person replies to what an agent asked.
func (w *town) writes(r fleet.Run) {
	if said := w.replies[r.ID]; ledger.AwaitsReply(r) && !said.lies && !w.chance(3, "no reply") {
		said.lies, said.written = true, said.written+1
	}
}

// begin is the shim: it claims its key, once.
func (w *town) begin(t *fleet.StepTarget) {
	key := keyOf(t.Run.ID, t.Step, t.Attempt)
	if w.begun[key]++; w.begun[key] > 1 {
		w.t.Fatalf("%s begins twice", key)
	}
	run := w.run(t.Run.ID)
	step := run.Step(t.Step)
	if before := w.procs[keyOf(t.Run.ID, t.Step, t.Attempt-1)]; before != nil && !step.Safe {
		status, known := before.Status.Get()
		_, killed := before.Signal.Get()
		if before.State != fleet.ProcFailed && (before.State != fleet.ProcEnded || known && status == 0 && !strings.Contains(step.Why, "longer") || !known && !killed) {
			w.t.Fatalf("%s begins after %+v", key, before)
		}
	}
	for _, n := range step.Needs {
		if run.Step(n).State != fleet.StepDone {
			w.t.Fatalf("%s begins without %s", key, n)
		}
	}
	w.procs[key] = &fleet.StepFacts{Step: t.Step, Attempt: t.Attempt, State: fleet.ProcRunning}
}

func (w *town) launch(rec *fleet.ActionRecord) {
	name := rec.Subject.Name
	reg := ledger.Registration(w.past.Registrations, name)
	if reg == nil {
		return
	}
	instance, process := rec.ID, fleet.ProcessID{PID: 1000 + w.actions, Start: uint64(w.actions)}
	started, err := ledger.Started(*reg, instance, process, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.past.Registrations = merge(slices.Clone(w.past.Registrations), []fleet.Registration{started})
	w.agents[name] = &fleet.Agent{Name: name, Instance: instance, Process: process, State: fleet.StateWorking, Progress: fleet.ProgressSome, Quiet: fleet.Known(fleet.Duration(0))}
}

func (w *town) die(a *fleet.Agent, e fleet.Exit) {
	e.Instance, e.Process, e.At = a.Instance, a.Process, w.now
	a.Exit, a.Process, a.State = &e, fleet.ProcessID{}, fleet.StateCrashed
}

// happens is what the world does by itself.
func (w *town) happens() {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(w.draw, "seconds")) * time.Second)
	keys := slices.Sorted(func(yield func(string) bool) {
		for k := range w.procs {
			if !yield(k) {
				return
			}
		}
	})
	for _, k := range keys {
		if p := w.procs[k]; p.State == fleet.ProcRunning {
			w.procEnds(p)
		}
	}
	for _, r := range w.past.Runs {
		if r.Session != nil {
			w.agentDoes(r, w.agents[r.Session.Agent])
		}
		w.writes(r)
	}
}

func (w *town) procEnds(p *fleet.StepFacts) {
	if w.benign {
		p.State, p.Status = fleet.ProcEnded, fleet.Known(0)
		return
	}
	switch rapid.IntRange(0, 7).Draw(w.draw, "process") {
	case 0, 1:
		p.State, p.Status = fleet.ProcEnded, fleet.Known(0)
	case 2:
		p.State, p.Status = fleet.ProcEnded, fleet.Known(3)
	case 3:
		p.State, p.Status, p.Left = fleet.ProcEnded, fleet.Known(0), []fleet.ProcessID{{PID: 9}}
	case 4:
		p.State = fleet.ProcInDoubt
	}
}

func (w *town) agentDoes(r fleet.Run, a *fleet.Agent) {
	if a == nil || a.Process.PID == 0 {
		return
	}
	what := 9
	if !w.benign {
		what = rapid.IntRange(0, 14).Draw(w.draw, "agent")
	}
	switch what {
	case 0:
		w.die(a, fleet.Exit{Signal: fleet.Known(9)})
	case 1:
		w.die(a, fleet.Exit{Status: fleet.Known(0)})
	case 2, 3, 4:
		a.State = fleet.StateIdle
	case 5, 6:
		a.State = rapid.SampledFrom([]fleet.AgentState{fleet.StateWorking, fleet.StateUnknown, fleet.StateRateLimited}).Draw(w.draw, "state")
	case 7:
		a.Progress, a.Quiet = fleet.ProgressNone, fleet.Known(fleet.Duration(3*time.Hour))
	case 8, 10:
		step := rapid.SampledFrom(r.Steps).Draw(w.draw, "step")
		if got, err := ledger.ReportStep(r, step.ID, rapid.SampledFrom([]fleet.StepState{fleet.StepDone, fleet.StepDone, fleet.StepFailed}).Draw(w.draw, "word"), "", fleet.ByAgent(a.Name), w.now); err == nil {
			*w.run(r.ID) = got
		}
	case 9, 11:
		words := []string{"done", "failed", "escalate", "merged", "crashed", "awaiting_ci", "nonsense"}
		word := "done"
		if !w.benign {
			word = rapid.SampledFrom(words).Draw(w.draw, "phase")
		}
		w.phase[r.ID] = fleet.Phrase{Word: word, At: w.now}
	}
}

// personReports: a person has done a step that was an agent's.
func (w *town) personReports() {
	if !w.chance(10, "a person reports") {
		return
	}
	r := rapid.SampledFrom(w.past.Runs).Draw(w.draw, "of")
	step := rapid.SampledFrom(r.Steps).Draw(w.draw, "step")
	if got, err := ledger.ReportStep(r, step.ID, fleet.StepDone, "", "ann", w.now); err == nil {
		*w.run(r.ID) = got
	}
}

func randomRun(t *rapid.T, id string) fleet.Run {
	r := fleet.Run{ID: id, Formula: "f" + id, By: rapid.SampledFrom([]string{"ann", fleet.ByCustos}).Draw(t, "by"), Mode: fleet.RunInTmux, Dir: "/state/runs/" + id, Work: "/w",
		Parallel: rapid.IntRange(0, 2).Draw(t, "parallel"), Session: &fleet.RunSession{Kind: "claude", Memory: 1 << 30, Recover: 1, Repo: "/w"}}
	n := rapid.IntRange(1, 6).Draw(t, "steps")
	for i := range n {
		s := fleet.RunStep{ID: fmt.Sprint("s", i), Do: rapid.SampledFrom([]fleet.StepDo{fleet.StepRun, fleet.StepRun, fleet.StepUses, fleet.StepProse, fleet.StepProse}).Draw(t, "do"),
			Safe: rapid.Bool().Draw(t, "safe"), Retries: rapid.IntRange(0, 2).Draw(t, "retries"), Uses: rapid.SampledFrom(append(Uses(), "nonsense")).Draw(t, "uses")}
		if s.Do == fleet.StepRun {
			s.Argv = []string{"true"}
		}
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
				s.Needs = append(s.Needs, fmt.Sprint("s", j))
			}
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

// replies are what people wrote to a run, and what became of it.
type replies struct {
	lies, taken   bool // it is there to be taken; it was taken, and not put away yet
	written, done int
}

// TestAdvanceProperty: over random histories no step begins twice with the same
// attempt, what may not be repeated is attempted again only after a failure that
// is certain, needs and Parallel are respected, nothing that is over changes, and
// when nothing changes Advance changes nothing. A reply of a person is told and
// put away once. In a world that is kind from then
// on, every run ends, or says for what it waits.
func TestAdvanceProperty(t *testing.T) {
	fleettest.FewRaced(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newTown(t, randomRun(t, "one"), randomRun(t, "two"))
		w.draw = t
		for range rapid.IntRange(1, 40).Draw(t, "passes") {
			w.pass()
			w.happens()
			if w.chance(25, "cancel") {
				if got, err := ledger.CancelRun(w.past.Runs[0], "ann", w.now); err == nil {
					w.past.Runs[0] = got
				}
			}
			w.personReports()
			if w.chance(25, "disable") {
				w.policy.Runs.Disabled = []string{"ftwo"}
			}
		}
		w.benign = true
		for range 60 {
			w.pass()
			w.happens()
		}
		for _, r := range w.past.Runs {
			if !r.IsOver() && r.State != fleet.RunPerson {
				t.Fatalf("run %s is %s, and says %q: %+v\nsession %+v\norders %+v", r.ID, r.State, r.Why, r.Steps, r.Session, w.past.Orders)
			}
			if r.Session != nil && r.Session.Recovered > 1 {
				t.Fatalf("recovered %d times", r.Session.Recovered)
			}
			said := w.replies[r.ID]
			if said.done > said.written || (r.State == fleet.RunDone || r.State == fleet.RunCancelled) && (said.taken || r.Session.Answer != "" || r.Session.Answers != said.done) {
				t.Fatalf("run %s is %s, with %+v of replies: %+v", r.ID, r.State, *said, *r.Session)
			}
		}
		before := w.past
		if p := Advance(fleet.Pass{Past: w.past, Snapshot: w.seen(), Policy: w.policy}); len(p.Runs) > 0 && !reflect.DeepEqual(before.Runs, p.Runs) && w.past.Runs[0].IsOver() && w.past.Runs[1].IsOver() {
			t.Fatalf("what is over changes: %+v", p.Runs)
		}
	})
}
