package loop_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
)

// workshop is a machine on which formulas are run. Each step's process lives for a
// while; what is seen of the runs is as old as the last look, and a look takes a
// moment.
type workshop struct {
	*machine
	runs    []fleet.Run
	orders  []fleet.Order
	begun   map[string]fleet.Instant // attempt: when its process began
	twice   []string                 // attempts that were begun twice
	takes   time.Duration            // how long a step's process lives
	seen    fleet.Part[[]fleet.RunFacts]
	touched int
	plans   []fleet.Schedule
}

func newWorkshop(t *testing.T) *workshop {
	w := &workshop{machine: newMachine(t), begun: map[string]fleet.Instant{}, takes: 3 * time.Second}
	w.seen.Sight = fleet.Sight{Status: fleet.StatusOK, At: w.now()}
	w.clock(20*time.Minute, time.Minute)
	return w
}

func (w *workshop) clock(every, tick time.Duration) {
	w.loop = loop.New(loop.Options{Board: w, Rules: w.rules, Policy: w.policy, History: w, Act: w, Journal: w,
		Touches: func(do string) []fleet.PartName { return []fleet.PartName{fleet.PartRuns} },
		Every:   every, Tick: tick, Log: slog.New(slog.DiscardHandler)})
}

func (w *workshop) policy(o fleet.PatrolOrder) fleet.Policy {
	p := w.machine.policy(o)
	p.Abilities["run-step"] = fleet.Ability{Do: "run-step", Idempotent: true, Touches: []fleet.PartName{fleet.PartRuns}}
	p.Mode = fleet.ModeObserve
	p.Runs.Schedules = w.plans
	return p
}

// Touched makes the part pending, and looks again a little later.
func (w *workshop) Touched(parts ...fleet.PartName) {
	if !slices.Contains(parts, fleet.PartRuns) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched++
	w.seen.Status = fleet.StatusPending
	time.AfterFunc(50*time.Millisecond, w.look)
}

func (w *workshop) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = fleet.Part[[]fleet.RunFacts]{Sight: fleet.Sight{Status: fleet.StatusOK, At: w.now()}}
	for _, r := range w.runs {
		w.seen.Value = append(w.seen.Value, w.facts(r))
	}
	w.loop.Wake("looked")
}

func (w *workshop) facts(r fleet.Run) fleet.RunFacts {
	f := fleet.RunFacts{ID: r.ID, State: r.State, Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known("")}
	for _, s := range r.Steps {
		if s.Do != fleet.StepRun {
			continue
		}
		if s.State != fleet.StepRunning {
			f.Steps = append(f.Steps, fleet.StepFacts{Step: s.ID, Attempt: s.Attempt + 1, State: fleet.ProcNone})
		}
		if s.Attempt == 0 {
			continue
		}
		seen := fleet.StepFacts{Step: s.ID, Attempt: s.Attempt, State: fleet.ProcNone}
		if began, ok := w.begun[r.ID+"/"+fleet.StepKey(s.ID, s.Attempt)]; ok {
			if seen.State = fleet.ProcRunning; w.now().Since(began) >= w.takes {
				seen.State, seen.Status = fleet.ProcEnded, fleet.Known(0)
			}
		}
		f.Steps = append(f.Steps, seen)
	}
	return f
}

func (w *workshop) Snapshot() fleet.Snapshot {
	s := w.machine.Snapshot()
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Runs = w.seen
	s.Runs.Value = slices.Clone(w.seen.Value)
	return s
}

func (w *workshop) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	p, err := w.machine.Past(ctx, at)
	w.mu.Lock()
	defer w.mu.Unlock()
	p.StartedAt = fleet.Instant{Wall: w.machine.begun.UTC(), Up: fleet.Duration(time.Hour), Boot: "b"}
	p.Runs, p.Orders = slices.Clone(w.runs), slices.Clone(w.orders)
	return p, err
}

// Start commits the turn with its runs, and begins the processes of steps.
func (w *workshop) Start(ctx context.Context, t fleet.Turn) error {
	w.mu.Lock()
	for _, r := range t.Plan.Runs {
		w.put(r)
	}
	for _, a := range t.Plan.Actions {
		if a.Do == "run-step" {
			w.begin(a)
		}
	}
	w.mu.Unlock()
	return w.machine.Start(ctx, t)
}

func (w *workshop) begin(a fleet.Action) {
	key := a.Target.Step.Run.ID + "/" + fleet.StepKey(a.Target.Step.Step, a.Target.Step.Attempt)
	if _, ok := w.begun[key]; ok {
		w.twice = append(w.twice, key)
	}
	w.begun[key] = w.now()
	time.AfterFunc(w.takes, w.look) // the watch sees its end
}

func (w *workshop) put(r fleet.Run) {
	r.Revision++
	for i := range w.runs {
		if w.runs[i].ID == r.ID {
			w.runs[i] = r
			return
		}
	}
	w.runs = append(w.runs, r)
}

func (w *workshop) take(t *testing.T, steps ...fleet.RunStep) {
	run, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, Dir: "/runs/r1", Steps: steps}, w.now())
	if err != nil {
		t.Fatal(err)
	}
	w.put(run)
}

func command(id string, needs ...string) fleet.RunStep {
	return fleet.RunStep{ID: id, Do: fleet.StepRun, Argv: []string{"true"}, Needs: needs}
}

// TestThreeSteps: one after the other, without a tick, each begun once, though the
// fleet is only observed.
func TestThreeSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		w.clock(10*time.Hour, 10*time.Hour)
		time.Sleep(time.Second)
		w.take(t, command("a"), command("b", "a"), command("c", "b"))
		w.hours(t, time.Hour)
		if r := w.runs[0]; r.State != fleet.RunDone || r.EndedAt.Since(r.At) > 3*w.takes+3*time.Second {
			t.Errorf("the run is %s (%s), after %v", r.State, r.Why, r.EndedAt.Since(r.At))
		}
		if len(w.begun) != 3 || len(w.twice) != 0 {
			t.Errorf("begun %v, twice %v", w.begun, w.twice)
		}
		if len(w.turns) > 60 || w.touched > 10 {
			t.Errorf("%d passes and %d touches for three steps", len(w.turns), w.touched)
		}
	})
}

// TestStepAwaitsItsPatrol: a step that uses the patrol has one made, numbered and
// journalled, and goes on when it was committed.
func TestStepAwaitsItsPatrol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		w.clock(10*time.Hour, 10*time.Hour)
		w.take(t, fleet.RunStep{ID: "look", Do: fleet.StepUses, Uses: "patrol"}, command("after", "look"),
			fleet.RunStep{ID: "again", Do: fleet.StepUses, Uses: "patrol", Needs: []string{"after"}})
		w.hours(t, time.Hour)
		r := w.runs[0]
		if r.State != fleet.RunDone || r.Steps[0].Patrol != 2 || r.Steps[2].Patrol != 3 {
			t.Errorf("the run is %s (%s), its patrols %d and %d", r.State, r.Why, r.Steps[0].Patrol, r.Steps[2].Patrol)
		}
		if len(w.entries) != 3 || w.entries[2].Number != 3 {
			t.Errorf("%d patrols were journalled, want 3: the first, and one for each step", len(w.entries))
		}
		if began := w.begun["r1/after.1"]; began.Before(w.entries[1].Snapshot.At) {
			t.Errorf("the step began at %v, before the patrol it needs at %v", began, w.entries[1].Snapshot.At)
		}
	})
}

// TestAttendMakesNoPatrol: one command carries a run out to its end without a
// numbered pass, but for those that its own steps await.
func TestAttendMakesNoPatrol(t *testing.T) {
	for patrols, steps := range [][]fleet.RunStep{
		{command("a"), command("b", "a")},
		{command("a"), {ID: "look", Do: fleet.StepUses, Uses: "patrol", Needs: []string{"a"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorkshop(t)
			w.clock(10*time.Second, time.Minute)
			w.take(t, steps...)
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			w.loop.Attend(ctx)
			if r := w.runs[0]; r.State != fleet.RunDone || len(w.entries) != patrols || int(w.patrols) != patrols {
				t.Errorf("the run is %s (%s), with %d patrols and %d entries, want %d", r.State, r.Why, w.patrols, len(w.entries), patrols)
			}
		})
	}
}

// TestRunThatWaitsCostsNothing: what waits for a person, or for a process that
// takes its time, makes no passes.
func TestRunThatWaitsCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		w.takes = 50 * time.Minute
		w.clock(10*time.Hour, 10*time.Hour)
		w.take(t, command("a"), fleet.RunStep{ID: "p", Do: fleet.StepProse, Text: "think"})
		w.hours(t, 45*time.Minute)
		if r := w.runs[0]; r.State != fleet.RunPerson || r.Steps[0].State != fleet.StepRunning {
			t.Errorf("the run is %s, its step %s", r.State, r.Steps[0].State)
		}
		if len(w.turns) > 15 {
			t.Errorf("%d passes in 45 minutes of waiting", len(w.turns))
		}
	})
}

// TestRunsThatAreNotSeenDoNotStall: while the look at the runs hangs nothing is
// begun, the loop goes on, and so does the run once it is seen again.
func TestRunsThatAreNotSeenDoNotStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		w.seen.Status = fleet.StatusPending
		w.take(t, command("a"))
		go func() {
			time.Sleep(10 * time.Minute)
			w.mu.Lock()
			if len(w.begun) != 0 || len(w.turns) < 10 || len(w.turns) > 20 {
				t.Errorf("begun %v in %d passes of 10 minutes without a look", w.begun, len(w.turns))
			}
			w.mu.Unlock()
			w.look()
		}()
		w.hours(t, 15*time.Minute)
		if r := w.runs[0]; r.State != fleet.RunDone {
			t.Errorf("the run is %s: %s", r.State, r.Why)
		}
	})
}

// TestScheduleIsWokenFor: a schedule starts its runs on time though no tick comes by.
func TestScheduleIsWokenFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkshop(t)
		w.clock(10*time.Hour, 10*time.Hour)
		w.plans = []fleet.Schedule{{Name: "s", Every: fleet.Duration(10 * time.Minute), Enabled: true,
			Run: fleet.Run{Formula: "f", Mode: fleet.RunSteps, Dir: "/runs", Steps: []fleet.RunStep{command("a")}}}}
		w.hours(t, 61*time.Minute)
		if n := len(w.runs); n < 6 || n > 7 {
			t.Errorf("%d runs in an hour of one every ten minutes", n)
		}
		for _, r := range w.runs {
			if r.State != fleet.RunDone {
				t.Errorf("run %s is %s: %s", r.ID, r.State, r.Why)
			}
		}
		if len(w.twice) != 0 || len(w.turns) > 120 {
			t.Errorf("twice %v, %d passes", w.twice, len(w.turns))
		}
	})
}
