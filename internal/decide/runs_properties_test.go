package decide

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestRunHistories carries random formulas through Decide and ledger.Advance in a
// world whose processes end as they like, leave others behind or hang, whose
// actions fail, are refused or are cut short, and which is often not seen well.
func TestRunHistories(t *testing.T) {
	checks(t, 60)
	for shard := range 2 {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { newYard(t).work() })
		})
	}
}

// proc is the truth about one attempt at a step.
type proc struct {
	state  fleet.ProcState
	status int
	left   bool
	killed bool
	late   bool // it was to be ended: it took too long
}

// yard is one history.
type yard struct {
	t      *rapid.T
	sim    *sim // for its clock, and its way to end actions
	runs   []fleet.Run
	procs  map[string]*proc // RUN/STEP.ATTEMPT
	policy fleet.Policy
	calm   bool // nothing goes wrong any more
}

func newYard(t *rapid.T) *yard {
	y := &yard{t: t, procs: map[string]*proc{}, sim: &sim{t: t, now: stamp{true: time.Hour}, acked: map[fleet.AlertKey]stamp{}}}
	y.policy = fleet.Policy{Mode: pick(t, "mode", simModes), Abilities: newWorld().policy.Abilities, Agents: fleet.DefaultAgentLimits(),
		Budget: fleet.Attempts{Max: 1, In: fleet.Duration(time.Hour)}, Blast: 1}
	for r := range rapid.IntRange(1, 2).Draw(t, "runs") {
		run := fleet.Run{ID: fmt.Sprint("r", r), Formula: fmt.Sprint("f", r), By: pick(t, "by", []string{"ann", fleet.ByCustos}), Mode: fleet.RunSteps,
			Dir: "/runs", Work: pick(t, "work", []string{"", "/w"}), Parallel: rapid.IntRange(0, 2).Draw(t, "parallel")}
		for s := range rapid.IntRange(1, 4).Draw(t, "steps") {
			step := fleet.RunStep{ID: fmt.Sprint("s", s), Do: fleet.StepRun, Argv: []string{"true"}, Retries: rapid.IntRange(0, 2).Draw(t, "retries"),
				Safe: rapid.Bool().Draw(t, "safe"), Timeout: fleet.Duration(10 * time.Minute)}
			if s > 0 && rapid.Bool().Draw(t, "needs") {
				step.Needs = []string{fmt.Sprint("s", rapid.IntRange(0, s-1).Draw(t, "need"))}
			}
			run.Steps = append(run.Steps, step)
		}
		taken, err := ledger.TakeRun(fleet.Past{Runs: y.runs}, fleet.RunPolicy{}, run, y.sim.instant(y.sim.now))
		if err != nil {
			t.Fatal(err)
		}
		y.runs = append(y.runs, taken)
	}
	return y
}

func attemptKey(run, step string, n int) string { return fmt.Sprintf("%s/%s.%d", run, step, n) }

func (y *yard) work() {
	for range rapid.IntRange(2, 12).Draw(y.t, "passes") {
		y.live()
		y.pass()
	}
	y.calm, y.policy.Frozen = true, ""
	for n := 0; n < 60 && slices.ContainsFunc(y.runs, goesOn); n++ {
		y.sim.now.true += 11 * time.Minute
		for _, p := range y.procs {
			if p.state == fleet.ProcRunning && rapid.Bool().Draw(y.t, "ends at last") {
				p.state = fleet.ProcEnded
			}
		}
		y.finish()
		y.pass()
	}
	for _, r := range y.runs {
		if goesOn(r) {
			y.t.Fatalf("run %s does not end: %s, %+v", r.ID, r.Why, r.Steps)
		}
	}
}

func goesOn(r fleet.Run) bool { return !r.IsOver() && r.State != fleet.RunPerson }

// live lets time pass, processes end and people meddle.
func (y *yard) live() {
	t := y.t
	y.sim.now.true += pick(t, "wait", []time.Duration{time.Second, 15 * time.Second, 2 * time.Minute, 11 * time.Minute})
	if rarely(t, "reboot", 15) {
		y.sim.now.boot++
		y.sim.booted = y.sim.now.true
		for _, key := range y.keys() {
			if p := y.procs[key]; p.state == fleet.ProcRunning {
				p.state, p.left = fleet.ProcInDoubt, false
			}
		}
	}
	for _, key := range y.keys() {
		p := y.procs[key]
		if p.state != fleet.ProcRunning {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "fate of "+key) {
		case 0, 1:
			p.state = fleet.ProcEnded
		case 2:
			p.state, p.status = fleet.ProcEnded, 1
		case 3:
			p.state, p.left = fleet.ProcEnded, true
		case 4:
			p.state = pick(t, "doubt", []fleet.ProcState{fleet.ProcInDoubt, fleet.ProcRunning})
		}
	}
	y.finish()
	if y.policy.Frozen = ""; rarely(t, "frozen", 8) {
		y.policy.Frozen = "by ann"
	}
	if i := rapid.IntRange(0, len(y.runs)-1).Draw(t, "run"); rarely(t, "cancel", 15) {
		if r, err := ledger.CancelRun(y.runs[i], "ann", y.sim.instant(y.sim.now)); err == nil {
			y.runs[i] = r
		}
	}
}

func (y *yard) keys() []string {
	var keys []string
	for k := range y.procs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (y *yard) finish() {
	for _, e := range y.sim.log {
		if e.open && (y.calm || e.ends <= y.sim.now.true) {
			y.end(e)
		}
	}
}

// end gives an action its result; unless it was refused it did what it says, or
// perhaps not when it failed or was cut short.
func (y *yard) end(e *entry) {
	y.sim.end(e)
	r, s := e.record.Result, e.record.Target.Step
	if y.calm {
		r.Status = fleet.ResultDone
	}
	if r.Status == fleet.ResultUnverified {
		r.Status = fleet.ResultDone
	}
	key := attemptKey(s.Run.ID, s.Step, s.Attempt)
	did := r.Status == fleet.ResultDone || r.Status == fleet.ResultInDoubt && rapid.Bool().Draw(y.t, "done after all")
	p := y.procs[key]
	switch {
	case !did:
	case e.record.Do == doRunStep && p != nil:
		y.t.Fatalf("attempt %s was begun twice", key)
	case e.record.Do == doRunStep:
		y.procs[key] = &proc{state: fleet.ProcRunning}
	case p == nil:
		y.t.Fatalf("what never began was ended: %s", key)
	default:
		if p.state == fleet.ProcRunning {
			p.state, p.killed = fleet.ProcEnded, true
		}
		p.left = false
	}
}

// look is what is seen of the runs, which is the truth or nothing.
func (y *yard) look() fleet.Snapshot {
	snap := fleet.Snapshot{At: y.sim.instant(y.sim.now)}
	snap.Runs.Sight = fleet.Sight{Status: fleet.StatusOK, At: snap.At}
	if !y.calm && rarely(y.t, "runs not seen", 5) {
		snap.Runs.Status = pick(y.t, "status", []fleet.Status{fleet.StatusStale, fleet.StatusPending, fleet.StatusUnknown, ""})
	}
	for _, r := range y.runs {
		if !y.calm && rarely(y.t, "run not seen", 8) {
			continue
		}
		f := fleet.RunFacts{ID: r.ID, Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known("")}
		for _, s := range r.Steps {
			for n := 1; n <= s.Attempt+1; n++ {
				f.Steps = append(f.Steps, y.seen(attemptKey(r.ID, s.ID, n), fleet.StepFacts{Step: s.ID, Attempt: n}))
			}
		}
		snap.Runs.Value = append(snap.Runs.Value, f)
	}
	return snap
}

func (y *yard) seen(key string, f fleet.StepFacts) fleet.StepFacts {
	p := y.procs[key]
	switch {
	case !y.calm && rarely(y.t, "attempt not seen", 10):
		f.State, f.Why = fleet.ProcUnknown, "permission denied"
		return f
	case p == nil:
		f.State = fleet.ProcNone
		return f
	}
	if f.State = p.state; p.state == fleet.ProcEnded && p.killed {
		f.Signal = fleet.Known(9)
	} else if p.state == fleet.ProcEnded {
		f.Status = fleet.Known(p.status)
	}
	if p.left {
		f.Left = []fleet.ProcessID{{PID: 77}}
	}
	return f
}

func (y *yard) pass() {
	snap := y.look()
	past := fleet.Past{Runs: y.runs, Actions: y.sim.records(), Newest: y.sim.past.Newest, Amnesia: !y.calm && rarely(y.t, "amnesia", 15)}
	before := encode(y.policy, snap, past)
	plan := Decide(y.policy, snap, fleet.Assessment{}, past)
	if !bytes.Equal(before, encode(y.policy, snap, past)) || !bytes.Equal(encode(plan), encode(Decide(y.policy, snap, fleet.Assessment{}, past))) {
		y.t.Fatal("Decide changed its inputs, or gave two plans")
	}
	for i, a := range plan.Actions {
		y.check(snap, past, plan.Actions[:i], a)
	}
	on := runs.Advance(fleet.Pass{Past: past, Snapshot: snap, Policy: y.policy, Plan: plan})
	y.write(plan, on)
	if again := runs.Advance(fleet.Pass{Past: fleet.Past{Runs: y.runs, Actions: y.sim.records()}, Snapshot: snap, Policy: y.policy, Plan: fleet.Plan{At: plan.At}}); len(on.Runs) == 0 && len(plan.Actions) == 0 && len(again.Runs) > 0 {
		y.t.Fatalf("nothing happened, and runs changed: %+v", again.Runs)
	}
}

func (y *yard) write(plan fleet.Plan, on fleet.Follows) {
	for _, is := range on.Runs {
		i := slices.IndexFunc(y.runs, func(r fleet.Run) bool { return r.ID == is.ID })
		y.checkTries(y.runs[i], is)
		y.runs[i] = is
	}
	for _, a := range plan.Actions {
		e := &entry{record: fleet.ActionRecord{Action: a, Stage: fleet.StageStarted, PlannedAt: plan.At}, moment: y.sim.now, open: true}
		e.ends = y.sim.now.true + pick(y.t, "takes", []time.Duration{0, 0, time.Second, time.Minute})
		y.sim.log = append(y.sim.log, e)
	}
	y.finish()
}

// checkTries: a step that may not be repeated gets another attempt only when the
// one before failed for certain.
func (y *yard) checkTries(was, is fleet.Run) {
	for i, s := range is.Steps {
		if p := y.procs[attemptKey(is.ID, s.ID, s.Attempt)]; p != nil && s.End != "" {
			p.late = true
		}
		if s.Attempt <= was.Steps[i].Attempt || s.Attempt < 2 || s.Safe {
			continue
		}
		p := y.procs[attemptKey(is.ID, s.ID, s.Attempt-1)]
		if p != nil && (p.state == fleet.ProcInDoubt || p.state == fleet.ProcRunning || p.state == fleet.ProcEnded && p.status == 0 && !p.killed && !p.late) {
			y.t.Fatalf("step %s gets attempt %d after %+v", s.ID, s.Attempt, *p)
		}
	}
}

// check is what every action on a run must keep.
func (y *yard) check(snap fleet.Snapshot, past fleet.Past, planned []fleet.Action, a fleet.Action) {
	fail := func(why string) { y.t.Fatalf("%s on %s, attempt %d: %s", a.Do, a.Subject, a.Attempt, why) }
	target := a.Target.Step
	i := slices.IndexFunc(past.Runs, func(r fleet.Run) bool { return r.ID == target.Run.ID })
	run := past.Runs[i]
	s := run.Step(target.Step)
	switch {
	case y.policy.Frozen != "" || past.Amnesia:
		fail("frozen, or nothing is remembered")
	case !snap.Runs.Fresh():
		fail("the runs were not seen well")
	case run.IsOver():
		fail("its run is over")
	case slices.ContainsFunc(planned, func(o fleet.Action) bool { return o.Subject == a.Subject }),
		slices.ContainsFunc(past.Actions, func(r fleet.ActionRecord) bool { return r.Open() && r.Subject == a.Subject }):
		fail("two at once on one step")
	case slices.ContainsFunc(past.Actions, func(r fleet.ActionRecord) bool { return r.ID == a.ID }):
		fail("its ID is one of the past")
	}
	p := y.procs[attemptKey(run.ID, s.ID, target.Attempt)]
	if a.Do == doEndStep {
		if s.End == "" || p == nil || p.state != fleet.ProcRunning && !p.left || target.Attempt != s.Attempt {
			fail("there is nothing to end")
		}
		return
	}
	busy := 1
	for _, other := range run.Steps {
		if other.State == fleet.StepRunning {
			busy++
		}
	}
	for _, o := range planned {
		if o.Do == doRunStep && o.Target.Step.Run.ID == run.ID {
			busy++
		}
	}
	seen := slices.ContainsFunc(snap.Runs.Value, func(f fleet.RunFacts) bool {
		return f.ID == run.ID && slices.ContainsFunc(f.Steps, func(f fleet.StepFacts) bool {
			return f.Step == s.ID && f.Attempt == target.Attempt && f.State == fleet.ProcNone
		})
	})
	if most := run.Parallel; !seen || p != nil || run.Cancel != "" || s.State != fleet.StepReady || target.Attempt != s.Attempt+1 || most > 0 && busy > most || busy > 4 {
		fail(fmt.Sprintf("it may not begin: seen %v, %v, %d at once, %+v", seen, p, busy, *s))
	}
}
