package runs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// onStage is a kind town in which the agent of a run was started and works.
func onStage(t *testing.T, change ...func(*fleet.Run)) *town {
	t.Helper()
	run := proseRun()
	for _, c := range change {
		c(&run)
	}
	w := newTown(t, run)
	w.benign = true
	w.passes(12, 0)
	if a := w.agents["r1"]; a == nil || a.Process.PID == 0 || !w.past.Runs[0].Session.Seen {
		t.Fatalf("the agent was not started: %+v %+v", w.past.Runs[0], w.past.Runs[0].Session)
	}
	r := ledger.Registration(w.past.Registrations, "r1")
	r.Worktree, r.PromptState = "/w.worktrees/r1", fleet.DeliveryAcknowledged
	return w
}

func (w *town) passes(n int, apart time.Duration) {
	for range n {
		w.now = w.now.Add(apart)
		w.pass()
	}
}

func (w *town) agent() *fleet.Agent { return w.agents["r1"] }

func (w *town) report(step string, to fleet.StepState) {
	w.now = w.now.Add(time.Second)
	got, err := ledger.ReportStep(w.past.Runs[0], step, to, "note", fleet.ByAgent("r1"), w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.past.Runs[0] = got
}

func (w *town) says(word, reason string) {
	w.now = w.now.Add(time.Second)
	w.phase["r1"] = fleet.Phrase{Word: word, Reason: reason, At: w.now}
}

func (w *town) ordered(id string) *fleet.ActionRecord {
	for i := range w.past.Actions {
		if w.past.Actions[i].Order == id {
			return &w.past.Actions[i]
		}
	}
	return nil
}

// TestSessionContract goes through the seed's contract, line by line: what an
// agent does, and how the run ends.
func TestSessionContract(t *testing.T) {
	dead := fleet.Exit{Signal: fleet.Known(9)}
	for name, c := range map[string]struct {
		change func(*fleet.Run)
		does   func(w *town)
		state  fleet.RunState
		end    string // of the session
		why    string // in the run's Why
		steps  string
		keep   bool
	}{
		"follows": {does: func(w *town) {
			w.report("look", fleet.StepDone)
			w.passes(1, time.Second)
			w.report("write", fleet.StepDone)
			w.passes(2, time.Second)
		}, state: fleet.RunDone, end: "nothing left to do", steps: "done done"},
		"says done, and reported nothing": {does: func(w *town) { w.says("done", ""); w.passes(2, time.Second) }, state: fleet.RunDone, end: "phase", steps: "done done"},
		"merged":                          {does: func(w *town) { w.says("merged", ""); w.passes(2, time.Second) }, state: fleet.RunDone, end: "phase", steps: "done done"},
		"failed":                          {does: func(w *town) { w.says("failed", "no network"); w.passes(2, time.Second) }, state: fleet.RunFailed, end: "phase", why: "no network", steps: "failed skipped", keep: true},
		"crashed":                         {does: func(w *town) { w.says("crashed", ""); w.passes(2, time.Second) }, state: fleet.RunFailed, end: "phase", steps: "failed skipped", keep: true},
		"half-follows, then fails": {does: func(w *town) {
			w.report("look", fleet.StepDone)
			w.says("failed", "")
			w.passes(2, time.Second)
		}, state: fleet.RunFailed, end: "phase", steps: "done failed", keep: true},
		"reports a failure": {does: func(w *town) { w.report("look", fleet.StepFailed); w.passes(2, time.Second) }, state: fleet.RunFailed, end: "nothing left to do", why: "reported by agent/r1", steps: "failed skipped"},
		"escalates":         {does: func(w *town) { w.says("escalate", "which branch?"); w.passes(2, time.Second) }, state: fleet.RunPerson, end: "phase", why: "which branch?", steps: "needs a person waiting", keep: true},
		"awaits its pipeline": {does: func(w *town) {
			w.says("awaiting_ci", "")
			w.agent().State = fleet.StateIdle
			w.quiet(5 * time.Hour)
			w.passes(200, 5*time.Minute)
		}, state: fleet.RunOpen, why: "pipeline", steps: "running waiting"},
		"awaits a review": {does: func(w *town) {
			w.says("awaiting_review", "")
			w.agent().State = fleet.StateIdle
			w.passes(9, time.Minute)
		}, state: fleet.RunOpen, why: "review", steps: "running waiting"},
		"awaited, then done": {does: func(w *town) {
			w.says("awaiting_ci", "")
			w.passes(3, time.Minute)
			w.says("done", "")
			w.passes(2, time.Second)
		}, state: fleet.RunDone, end: "phase", steps: "done done"},
		"an unknown word": {does: func(w *town) { w.says("DONE!!", ""); w.passes(3, time.Second) }, state: fleet.RunOpen, steps: "running waiting"},
		"a phase of a former run": {does: func(w *town) {
			w.phase["r1"] = fleet.Phrase{Word: "done", At: at(-time.Hour)}
			w.passes(3, time.Second)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"two looks idle":     {does: func(w *town) { w.agent().State = fleet.StateIdle; w.passes(2, 31*time.Second) }, state: fleet.RunOpen, steps: "running waiting"},
		"three looks idle":   {does: func(w *town) { w.agent().State = fleet.StateIdle; w.passes(3, 31*time.Second) }, state: fleet.RunFailed, end: "idle", why: "prompt without a phase", steps: "failed skipped", keep: true},
		"many looks at once": {does: func(w *town) { w.agent().State = fleet.StateIdle; w.passes(20, time.Second) }, state: fleet.RunOpen, steps: "running waiting"},
		"idle, works, idle": {does: func(w *town) {
			w.agent().State = fleet.StateIdle
			w.passes(2, 31*time.Second)
			w.agent().State = fleet.StateWorking
			w.passes(1, 31*time.Second)
			w.agent().State = fleet.StateIdle
			w.passes(2, 31*time.Second)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"idle, and what it wrote down cannot be read": {does: func(w *town) {
			w.agent().State, w.unread = fleet.StateIdle, true
			w.passes(9, time.Minute)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"idle, and what it wrote down was read before that": {does: func(w *town) {
			w.looked = w.now
			w.agent().State = fleet.StateIdle
			w.passes(9, time.Minute)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"idle for three looks, and done by what is read after the last": {does: func(w *town) {
			w.looked = w.now
			w.agent().State = fleet.StateIdle
			w.passes(3, 31*time.Second)
			w.says("done", "")
			w.looked = w.now.Add(time.Second)
			w.passes(2, 2*time.Second)
		}, state: fleet.RunDone, end: "phase", steps: "done done"},
		"idle, and its prompt did not arrive": {does: func(w *town) {
			ledger.Registration(w.past.Registrations, "r1").PromptState = fleet.DeliveryUndelivered
			w.agent().State = fleet.StateIdle
			w.passes(3, 31*time.Second)
		}, state: fleet.RunFailed, end: "idle", why: "what it is to do did not reach its agent", steps: "failed skipped", keep: true},
		"idle before its prompt arrived": {does: func(w *town) {
			ledger.Registration(w.past.Registrations, "r1").PromptState = fleet.DeliverySent
			w.agent().State = fleet.StateIdle
			w.passes(9, time.Minute)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"no progress": {does: func(w *town) { w.quiet(2 * time.Hour); w.passes(3, time.Hour) }, state: fleet.RunFailed, end: "timeout", why: "has run for 2h", steps: "failed skipped", keep: true},
		"no progress, not known": {does: func(w *town) {
			w.quiet(2 * time.Hour)
			w.agent().Progress = fleet.ProgressUnknown
			w.passes(3, time.Hour)
		}, state: fleet.RunFailed, end: "timeout", why: "has run for 2h", steps: "failed skipped", keep: true},
		"works for as long as it may": {does: func(w *town) { w.passes(7, 17*time.Minute) }, state: fleet.RunOpen, why: "works", steps: "running waiting"},
		"works for longer":            {does: func(w *town) { w.passes(3, time.Hour) }, state: fleet.RunFailed, end: "timeout", why: "has run for 2h", steps: "failed skipped", keep: true},
		"rate limited for hours": {does: func(w *town) {
			w.quiet(9 * time.Hour)
			w.agent().State = fleet.StateRateLimited
			w.passes(9, time.Hour)
		}, state: fleet.RunOpen, why: "rate limited", steps: "running waiting"},
		"paused": {does: func(w *town) {
			w.quiet(9 * time.Hour)
			w.agent().State = fleet.StateIdle
			ledger.Registration(w.past.Registrations, "r1").Desired = fleet.DesiredPaused
			w.passes(9, time.Hour)
		}, state: fleet.RunOpen, why: "paused", steps: "running waiting"},
		"dies once": {does: func(w *town) { w.die(w.agent(), dead); w.passes(8, time.Second) }, state: fleet.RunOpen, why: "works", steps: "running waiting"},
		"dies once, then is done": {does: func(w *town) {
			w.die(w.agent(), dead)
			w.passes(8, time.Second)
			w.says("done", "")
			w.passes(2, time.Second)
		}, state: fleet.RunDone, end: "phase", steps: "done done"},
		"dies twice": {does: func(w *town) {
			w.die(w.agent(), dead)
			w.passes(8, time.Second)
			w.die(w.agent(), dead)
			w.passes(3, time.Second)
		}, state: fleet.RunFailed, end: "death", why: "died again after it was started again; its worktree is kept at /w.worktrees/r1", steps: "failed skipped", keep: true},
		"dies, and may not be recovered": {change: func(r *fleet.Run) { r.Session.Recover = 0 }, does: func(w *town) { w.die(w.agent(), dead); w.passes(3, time.Second) }, state: fleet.RunFailed, end: "death", steps: "failed skipped", keep: true},
		"ends by itself":                 {does: func(w *town) { w.die(w.agent(), fleet.Exit{Status: fleet.Known(0)}); w.passes(3, time.Second) }, state: fleet.RunFailed, end: "idle", why: "without a phase", steps: "failed skipped", keep: true},
		"says done, and dies":            {does: func(w *town) { w.says("done", ""); w.die(w.agent(), dead); w.passes(3, time.Second) }, state: fleet.RunDone, end: "phase", steps: "done done"},
		"the machine went down twice": {does: func(w *town) {
			for range 2 {
				w.die(w.agent(), fleet.Exit{Source: fleet.ExitReboot})
				w.passes(8, time.Second)
			}
		}, state: fleet.RunOpen, steps: "running waiting"},
		"a person stopped it": {does: func(w *town) {
			r := ledger.Registration(w.past.Registrations, "r1")
			r.Desired, r.DesiredBy = fleet.DesiredStopped, "bob"
			w.passes(3, time.Second)
		}, state: fleet.RunCancelled, end: "person", why: "bob stopped its agent", steps: "skipped skipped", keep: true},
		"a person ordered its stop": {does: func(w *town) {
			w.past.Orders = append(w.past.Orders, fleet.Order{ID: "o", Do: fleet.OrderStop, Agent: "r1", By: "bob", At: w.now, State: fleet.OrderOpen})
			w.passes(4, time.Second)
		}, state: fleet.RunCancelled, end: "person", steps: "skipped skipped", keep: true},
		"a person ended it in its terminal": {does: func(w *town) {
			w.die(w.agent(), fleet.Exit{Status: fleet.Known(0), Quit: "its own exit command"})
			w.passes(3, time.Second)
		}, state: fleet.RunCancelled, end: "person", steps: "skipped skipped", keep: true},
		"a signal that anything may send": {does: func(w *town) {
			w.die(w.agent(), fleet.Exit{Signal: fleet.Known(1)})
			w.passes(8, time.Second)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"its terminal server ended": {does: func(w *town) {
			w.die(w.agent(), fleet.Exit{Status: fleet.Known(0), Server: "/s"})
			w.passes(8, time.Second)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"Custos ended it as stuck": {does: func(w *town) {
			w.die(w.agent(), fleet.Exit{Signal: fleet.Known(15), Asked: fleet.ByCustos})
			w.passes(8, time.Second)
		}, state: fleet.RunOpen, steps: "running waiting"},
		"cancelled": {does: func(w *town) {
			w.past.Runs[0], _ = ledger.CancelRun(w.past.Runs[0], "bob", w.now)
			w.passes(3, time.Second)
		}, state: fleet.RunCancelled, end: "cancelled", why: "cancelled by bob", steps: "skipped skipped", keep: true},
		"its formula is disabled": {does: func(w *town) {
			w.policy.Runs.Disabled = []string{"f"}
			w.passes(3, time.Second)
			w.says("done", "")
			w.passes(2, time.Second)
		}, state: fleet.RunDone, end: "phase", steps: "done done"},
		"another's agent of the name": {does: func(w *town) {
			ledger.Registration(w.past.Registrations, "r1").Run = "r0"
			w.past.Actions = nil
			w.passes(3, time.Second)
		}, state: fleet.RunFailed, end: "not started", steps: "failed skipped", keep: true},
		"an instance before was killed": {change: func(r *fleet.Run) { r.Session.Recover = 0 }, does: func(w *town) {
			w.agent().Exit = &dead
			w.agent().Process.PID, w.agent().Instance = 0, "older"
			w.agent().State = fleet.StateCrashed
			w.passes(3, time.Second)
		}, state: fleet.RunOpen, steps: "running waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			change := c.change
			if change == nil {
				change = func(*fleet.Run) {}
			}
			w := onStage(t, change)
			c.does(w)
			r := w.past.Runs[0]
			var steps []string
			for _, s := range r.Steps {
				steps = append(steps, string(s.State))
			}
			if got := strings.Join(steps, " "); r.State != c.state || got != c.steps || r.Session.End != c.end || (r.Session.Keep != "") != c.keep {
				t.Fatalf("run %s (%s), steps %s, session ended by %q (%s), kept %q", r.State, r.Why, got, r.Session.End, r.Session.PhaseWhy, r.Session.Keep)
			}
			if !strings.Contains(r.Why, c.why) {
				t.Errorf("it says %q, not %q", r.Why, c.why)
			}
			if c.end == "" {
				return
			}
			if stop := w.stopOf(); stop == nil || c.end == "cancelled" && stop.By != "bob" || c.end == "phase" && stop.By != fleet.ByCustos {
				t.Errorf("its stop: %+v", stop)
			}
		})
	}
}

func (w *town) quiet(d time.Duration) {
	w.agent().Progress, w.agent().Quiet = fleet.ProgressNone, fleet.Known(fleet.Duration(d))
}

func (w *town) stopOf() *fleet.Order {
	id := w.past.Runs[0].Session.Stop
	if i := slices.IndexFunc(w.past.Orders, func(o fleet.Order) bool { return o.ID == id }); i >= 0 {
		return &w.past.Orders[i]
	}
	if rec := w.ordered(id); rec != nil {
		return &fleet.Order{ID: id, By: rec.By, Agent: rec.Subject.Name}
	}
	return nil
}

func TestSessionStart(t *testing.T) {
	w := newTown(t, proseRun())
	w.benign = true
	var spawn fleet.Order
	for range 12 {
		w.pass()
		for _, o := range append(slices.Clone(w.last.Given), w.past.Orders...) {
			if o.Do == fleet.OrderSpawn {
				spawn = o
			}
		}
	}
	if spawn.ID != "r1-session-1" || spawn.By != "ann" || spawn.Spawn == nil {
		t.Fatalf("got %+v", spawn)
	}
	s := spawn.Spawn
	want := []string{"FORGE_API=https://forge/api", "CUSTOS_RUN_ID=r1", "CUSTOS_FORMULA=f", "PHASE_FILE=/state/runs/r1/phase", "PROJECT_REPO_ROOT=/w"}
	if s.Run != "r1" || s.Restart != fleet.RestartNever || !s.Detached || s.Repo != "/w" || !slices.Equal(s.Set, want) || !strings.Contains(s.Prompt, "/state/runs/r1/prompt.md") {
		t.Errorf("got %+v", s)
	}
}

func TestGuardsBeforeTheStart(t *testing.T) {
	run := proseRun()
	run.Lock = "/tmp/f.lock"
	taken, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, run, at(0))
	if err != nil {
		t.Fatal(err)
	}
	late := taken.Clone()
	late.Steps = append([]fleet.RunStep{{ID: "first", Do: fleet.StepRun, State: fleet.StepDone, Attempt: 1}}, late.Steps...)
	for name, c := range map[string]struct {
		run    fleet.Run
		memory fleet.Leaf[int64]
		locked fleet.Leaf[string]
		blind  bool
		off    bool
		state  fleet.RunState
		why    string
	}{
		"all is well":               {run: taken, memory: fleet.Known(int64(2 << 30)), locked: fleet.Known(""), state: fleet.RunOpen, why: "its folder is not made yet"},
		"low memory":                {run: taken, memory: fleet.Known(int64(1)), locked: fleet.Known(""), state: fleet.RunSkipped, why: "less than 1024 MiB"},
		"low memory, begun":         {run: late, memory: fleet.Known(int64(1)), locked: fleet.Known(""), state: fleet.RunOpen, why: "less than 1024 MiB"},
		"memory unknown":            {run: taken, locked: fleet.Known(""), state: fleet.RunOpen, why: "not known how much memory"},
		"locked":                    {run: taken, memory: fleet.Known(int64(2 << 30)), locked: fleet.Known("pid 7"), state: fleet.RunSkipped, why: "pid 7"},
		"lock unknown":              {run: taken, memory: fleet.Known(int64(2 << 30)), state: fleet.RunOpen, why: "not known whether somebody holds"},
		"nothing looked at":         {run: taken, memory: fleet.Known(int64(2 << 30)), blind: true, state: fleet.RunOpen, why: "not looked"},
		"disabled":                  {run: taken, off: true, state: fleet.RunSkipped, why: "disabled"},
		"locked after it had begun": {run: late, memory: fleet.Known(int64(2 << 30)), locked: fleet.Known("pid 7"), state: fleet.RunOpen, why: "folder"},
	} {
		t.Run(name, func(t *testing.T) {
			snap := fleet.Snapshot{At: at(time.Minute)}
			snap.Host.Status, snap.Runs.Status = fleet.StatusOK, fleet.StatusOK
			snap.Host.Value.Memory.Available = c.memory
			if !c.blind {
				snap.Runs.Value = []fleet.RunFacts{{ID: "r1", Locked: c.locked, Held: fleet.Known(fleet.HoldOurs)}}
			}
			policy := fleet.Policy{}
			if c.off {
				policy.Runs.Disabled = []string{"f"}
			}
			past := fleet.Past{Runs: []fleet.Run{c.run}}
			for range 4 {
				for _, r := range Advance(fleet.Pass{Past: past, Snapshot: snap, Policy: policy}).Runs {
					past.Runs = []fleet.Run{r}
				}
			}
			if r := past.Runs[0]; r.State != c.state || !strings.Contains(r.Why, c.why) || r.State == fleet.RunSkipped && (r.EndedAt != at(time.Minute) || r.Steps[0].State != fleet.StepSkipped) {
				t.Errorf("run %s: %s", r.State, r.Why)
			}
		})
	}
}

// TestSessionAgain: what was escalated is taken up by another session when a
// person says so; the phase of the former one says nothing to it.
func TestSessionAgain(t *testing.T) {
	w := onStage(t)
	w.says("escalate", "which branch?")
	w.passes(3, time.Second)
	got, err := ledger.ResumeRun(w.past.Runs, w.past.Runs[0], "", ledger.ResumeAgain, "ann", w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.past.Runs[0] = got
	w.passes(12, time.Second)
	s := w.past.Runs[0].Session
	if s.Agent != "r1-2" || s.Order != "r1-session-2" || !s.Seen || s.Phase != "" || s.End != "" {
		t.Fatalf("got %+v", s)
	}
	w.says("done", "")
	w.passes(2, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunDone {
		t.Errorf("run %s: %s", r.State, r.Why)
	}
}

// TestSessionTold: an agent that waits for a step of Custos is not idle, and is
// told when it may go on.
func TestSessionTold(t *testing.T) {
	w := onStage(t, func(r *fleet.Run) {
		r.Steps = append(r.Steps, fleet.RunStep{ID: "build", Do: fleet.StepRun, Argv: []string{"make"}, Needs: []string{"look"}}, fleet.RunStep{ID: "last", Do: fleet.StepProse, Needs: []string{"build", "write"}})
	})
	w.report("look", fleet.StepDone)
	w.passes(1, time.Second)
	if g := w.last.Given; len(g) != 0 {
		t.Fatalf("it reported a step of its own, and is told what it knows: %+v", g)
	}
	w.report("write", fleet.StepDone)
	w.agent().State = fleet.StateIdle
	w.passes(9, time.Minute)
	if r := w.past.Runs[0]; r.State != fleet.RunOpen || r.Steps[2].State != fleet.StepRunning {
		t.Fatalf("run %s: %s %+v", r.State, r.Why, r.Steps)
	}
	w.procs["r1/build/1"].State, w.procs["r1/build/1"].Status = fleet.ProcEnded, fleet.Known(0)
	w.passes(1, time.Second)
	if g := w.last.Given; len(g) != 1 || g[0].Do != fleet.OrderNudge || !strings.Contains(g[0].Text, "last") || g[0].By != fleet.ByCustos {
		t.Fatalf("given %+v", g)
	}
	w.says("done", "")
	w.passes(2, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunDone {
		t.Errorf("run %s: %s", r.State, r.Why)
	}
}

// TestRecoveryTells: what was done is named, and the whole prompt is not said again.
func TestRecoveryTells(t *testing.T) {
	w := onStage(t)
	w.report("look", fleet.StepDone)
	w.die(w.agent(), fleet.Exit{Signal: fleet.Known(9)})
	var told []fleet.Order
	for range 8 {
		w.passes(1, time.Second)
		told = append(told, w.last.Given...)
	}
	if len(told) != 1 || told[0].Do != fleet.OrderRecover || told[0].By != "ann" || !strings.Contains(told[0].Text, "not to be repeated: look. Left: write") {
		t.Errorf("given %+v", told)
	}
}

// The worktree of a run is where git has it, whatever link its agent's record names it by:
// what is kept or removed there is told by that path.
func TestWorktreeAfterwards(t *testing.T) {
	for _, named := range []string{"/w.worktrees/r1", "/link/r1"} {
		t.Run(named, func(t *testing.T) { worktreeAfterwards(t, named) })
	}
}

func worktreeAfterwards(t *testing.T, named string) {
	w := onStage(t)
	r := ledger.Registration(w.past.Registrations, "r1")
	r.Worktree, r.Real = named, "/w.worktrees/r1"
	w.says("done", "")
	w.passes(2, time.Second)
	snap := w.seen()
	remove := fleet.Plan{Actions: []fleet.Action{{ID: "rm", Do: doRemoveTree, Target: fleet.Target{Worktree: &fleet.Worktree{Path: "/w.worktrees/r1"}}}}}
	p := Advance(fleet.Pass{Past: w.past, Snapshot: snap, Policy: w.policy, Plan: remove})
	if len(p.Runs) != 1 || p.Runs[0].Session.Removal != "rm" || p.Runs[0].Session.Worktree != "/w.worktrees/r1" || p.Runs[0].State != fleet.RunDone {
		t.Fatalf("got %+v", p)
	}
	w.past.Runs = p.Runs
	for _, c := range []struct {
		status fleet.ResultStatus
		want   string
	}{{fleet.ResultFailed, ""}, {fleet.ResultDone, "done"}} {
		w.past.Actions = []fleet.ActionRecord{{Action: fleet.Action{ID: "rm"}, Stage: fleet.StageEnded, Result: &fleet.Result{Status: c.status}}}
		if p := Advance(fleet.Pass{Past: w.past, Snapshot: snap, Policy: w.policy}); len(p.Runs) != 1 || p.Runs[0].Session.Removal != c.want {
			t.Errorf("%s: %+v", c.status, p.Runs)
		}
	}
}

// TestLastWords: an agent that writes its phase and is gone is not taken for one
// that wrote none, though its end is seen first.
func TestLastWords(t *testing.T) {
	w := onStage(t)
	s := w.seen()
	w.says("done", "")
	w.die(w.agent(), fleet.Exit{Status: fleet.Known(0), At: w.now})
	s.At, s.Agents.Value = w.now.Add(time.Second), w.seen().Agents.Value
	s.Runs.At = w.now.Add(-time.Second)
	if p := Advance(fleet.Pass{Past: w.past, Snapshot: s, Policy: w.policy}); len(p.Runs) > 0 && p.Runs[0].IsOver() || p.Until.IsZero() {
		t.Fatalf("%+v", p)
	}
	s.Runs.Value, s.Runs.At = w.seen().Runs.Value, w.now.Add(time.Second)
	if p := Advance(fleet.Pass{Past: w.past, Snapshot: s, Policy: w.policy}); len(p.Runs) != 1 || p.Runs[0].State != fleet.RunDone {
		t.Fatalf("%+v", p)
	}
}

// A Custos that has just started may see the agent before it has looked at the run: an
// agent that is not known to be silent is not given up, however long ago it was heard.
func TestNoSessionIsGivenUpBeforeItsRunWasLookedAt(t *testing.T) {
	for name, c := range map[string]struct {
		state fleet.AgentState
		since time.Duration
		end   string
	}{"too long": {fleet.StateWorking, 3 * time.Hour, sessionTimedOut}, "idle": {fleet.StateIdle, time.Minute, sessionIdle}} {
		t.Run(name, func(t *testing.T) {
			w := onStage(t, func(r *fleet.Run) { r.Session.IdleLooks = 1 })
			w.agent().State = c.state
			w.now = w.now.Add(c.since)
			seen := w.seen()
			seen.Runs = fleet.Part[[]fleet.RunFacts]{Sight: fleet.Sight{Status: fleet.StatusPending, Why: "not looked yet"}}
			for _, r := range Advance(fleet.Pass{Past: w.past, Snapshot: seen}).Runs {
				if r.Session.End != "" {
					t.Errorf("not looked yet, and ended as %s: %s", r.Session.End, r.Session.Keep)
				}
			}
			w.pass()
			if got := w.past.Runs[0].Session.End; got != c.end {
				t.Errorf("seen, and ended as %q, want %q", got, c.end)
			}
		})
	}
}

func TestHeldProse(t *testing.T) {
	run := proseRun()
	run.Steps[0].Gate = &fleet.Gate{Type: fleet.GateHuman}
	run, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, run, at(0))
	want(t, err, nil)
	_, err = ledger.ReportStep(run, "look", fleet.StepDone, "", fleet.ByAgent("r1"), at(0))
	want(t, err, ledger.ErrIllegal)
	finishProse(&run, at(0))
	if s := run.Steps[0]; s.State != fleet.StepWaiting {
		t.Errorf("a phase passes over its gate: %+v", s)
	}
	run.Steps[0].Awaits = ledger.GatePassed
	_, err = ledger.ReportStep(run, "look", fleet.StepDone, "", fleet.ByAgent("r1"), at(0))
	want(t, err, nil)
}
