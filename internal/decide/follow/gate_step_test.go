package follow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// gatedRun has a step that is done, and one behind it that waits for a gate.
func gatedRun(t *testing.T, g fleet.Gate) fleet.Run {
	t.Helper()
	run, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, fleet.Run{ID: "r1", Formula: "release", Project: "shop", By: "ann", Mode: fleet.RunSteps, Dir: "/d", Steps: []fleet.RunStep{
		{ID: "build", Do: fleet.StepRun, Argv: []string{"x"}},
		{ID: "ship", Do: fleet.StepRun, Argv: []string{"x"}, Needs: []string{"build"}, Gate: &g},
		{ID: "tell", Do: fleet.StepRun, Argv: []string{"x"}, Needs: []string{"ship"}}}}, at(0))
	want(t, err, nil)
	return run
}

// carry is one pass over runs and records, as the loop makes it.
func (w *village) carry() []fleet.Mail {
	w.now += time.Second
	w.snap.At = w.at()
	before := len(w.mails)
	on := runs.Advance(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy})
	out := coordinate(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy})
	w.past.Runs = withChanged(w.past.Runs, on.Runs)
	w.keep(out.Records)
	return gateMails(w.mails[before:])
}

func withChanged(all, changed []fleet.Run) []fleet.Run {
	all = slices.Clone(all)
	for _, r := range changed {
		i := slices.IndexFunc(all, func(o fleet.Run) bool { return o.ID == r.ID })
		all[i] = r
	}
	return all
}

func (w *village) stepNow(id string) fleet.RunStep { return *w.past.Runs[0].Step(id) }

func (w *village) setStepDone(id string) {
	run := w.past.Runs[0].Clone()
	ledger.SetStep(run.Step(id), fleet.StepDone, "", w.at())
	w.past.Runs = []fleet.Run{run}
}

func (w *village) closeGate(id, as string) {
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		return ledger.CloseGate(*ledger.Gate(all, id), as, "said so", "ann", w.at())
	})
}

func TestStepWaitsForItsGate(t *testing.T) {
	w := newVillage(t)
	w.past.Runs = []fleet.Run{gatedRun(t, fleet.Gate{Type: fleet.GateHuman, Timeout: fleet.Duration(time.Hour)})}
	w.carry()
	if len(w.past.Records.Gates) > 0 {
		t.Fatalf("a gate before its step's needs are done: %+v", w.past.Records.Gates)
	}
	w.setStepDone("build")
	for range 4 {
		w.carry()
	}
	g := w.gateNow("g1")
	if len(w.past.Records.Gates) != 1 || g.Step != "r1/ship" || g.Project != "shop" || g.Due.IsZero() || g.By != fleet.ByCustos || g.Title != "step ship of run r1" {
		t.Fatalf("got %+v", w.past.Records.Gates)
	}
	if s := w.stepNow("ship"); s.State != fleet.StepWaiting || !strings.Contains(w.past.Runs[0].Why, "waits for gate g1 (human)") {
		t.Fatalf("got %+v: %s", s, w.past.Runs[0].Why)
	}
	if out := coordinate(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy}); !out.Records.IsZero() || out.Wake {
		t.Fatalf("while it waits a pass changes %+v", out.Records)
	}
	w.closeGate("g1", fleet.GatePassed)
	w.carry()
	if s := w.stepNow("ship"); s.State != fleet.StepReady {
		t.Fatalf("got %+v", s)
	}
	w.past.Records.Gates = nil // long ago
	run := w.past.Runs[0].Clone()
	run.Step("ship").State = fleet.StepWaiting // its first try failed
	w.past.Runs = []fleet.Run{run}
	w.carry()
	w.carry()
	if s := w.stepNow("ship"); s.State != fleet.StepReady || len(w.past.Records.Gates) > 0 {
		t.Errorf("its gate is asked for twice: %+v", s)
	}
}

func TestStepFailsWithItsGate(t *testing.T) {
	w := newVillage(t)
	w.past.Runs = []fleet.Run{gatedRun(t, fleet.Gate{Type: fleet.GateHuman})}
	w.setStepDone("build")
	w.carry()
	w.carry()
	w.closeGate("g1", fleet.GateFailed)
	w.carry()
	w.carry()
	if r := w.past.Runs[0]; r.State != fleet.RunFailed || w.stepNow("ship").State != fleet.StepFailed || w.stepNow("tell").State != fleet.StepSkipped || !strings.Contains(r.Why, "g1") {
		t.Fatalf("run %s: %s, %+v", r.State, r.Why, r.Steps)
	}
	again, err := ledger.ResumeRun(w.past.Runs, w.past.Runs[0], "ship", ledger.ResumeAgain, "ann", w.at())
	want(t, err, nil)
	w.past.Runs = []fleet.Run{again}
	w.carry()
	w.carry()
	if g := w.gateNow("g2"); len(w.past.Records.Gates) != 2 || g.Over() || g.Step != "r1/ship" {
		t.Errorf("got %+v", w.past.Records.Gates)
	}
}

func TestGateOfACancelledRun(t *testing.T) {
	w := newVillage(t)
	w.past.Runs = []fleet.Run{gatedRun(t, fleet.Gate{Type: fleet.GateTimer, Timeout: fleet.Duration(time.Hour)})}
	w.setStepDone("build")
	w.carry()
	w.carry()
	if g := w.gateNow("g1"); g.Until != w.at().Add(time.Hour) || !g.Due.IsZero() {
		t.Fatalf("got %+v", g)
	}
	gone, err := ledger.CancelRun(w.past.Runs[0], "ann", w.at())
	want(t, err, nil)
	w.past.Runs = []fleet.Run{gone}
	mails := w.carry()
	if g := w.gateNow("g1"); g.Outcome != fleet.GateCancelled || len(mails) > 0 {
		t.Errorf("got %+v, told %+v", g, mails)
	}
}

// TestTimerOfAStep: the run goes on by itself when the time has come, and the pass
// for it is asked for.
func TestTimerOfAStep(t *testing.T) {
	w := newVillage(t)
	w.past.Runs = []fleet.Run{gatedRun(t, fleet.Gate{Type: fleet.GateTimer, Timeout: fleet.Duration(time.Hour)})}
	w.setStepDone("build")
	w.carry()
	w.carry()
	w.now += 59 * time.Minute
	w.carry()
	if s := w.stepNow("ship"); s.State != fleet.StepWaiting {
		t.Fatalf("too early: %+v", s)
	}
	w.now += time.Minute
	w.carry()
	w.carry()
	if s := w.stepNow("ship"); s.State != fleet.StepReady {
		t.Errorf("got %+v, %+v", s, w.past.Records.Gates)
	}
}
