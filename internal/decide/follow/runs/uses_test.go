package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestStepFacts: what is seen of a running attempt, and what becomes of the step.
func TestStepFacts(t *testing.T) {
	left := []fleet.ProcessID{{PID: 9}}
	for name, c := range map[string]struct {
		step   fleet.RunStep
		facts  fleet.StepFacts
		result fleet.ResultStatus // of the action; "": it is open
		after  time.Duration
		cancel bool
		state  fleet.StepState
		why    string
		end    string
		tries  int // attempts that count
	}{
		"runs":                     {facts: fleet.StepFacts{State: fleet.ProcRunning}, state: fleet.StepRunning, tries: 1},
		"done":                     {facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(0)}, state: fleet.StepDone, tries: 1},
		"exit 3":                   {facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(3)}, state: fleet.StepFailed, why: "exit status 3", tries: 1},
		"exit 3, again":            {step: fleet.RunStep{Retries: 1}, facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(3)}, state: fleet.StepWaiting, why: "attempt 1 failed", tries: 1},
		"a signal":                 {facts: fleet.StepFacts{State: fleet.ProcEnded, Signal: fleet.Known(9)}, state: fleet.StepFailed, why: "signal 9", tries: 1},
		"ended, not known how":     {facts: fleet.StepFacts{State: fleet.ProcEnded}, state: fleet.StepPerson, why: "in doubt", tries: 1},
		"in doubt":                 {facts: fleet.StepFacts{State: fleet.ProcInDoubt}, state: fleet.StepPerson, why: "in doubt", tries: 1},
		"in doubt, with retries":   {step: fleet.RunStep{Retries: 5}, facts: fleet.StepFacts{State: fleet.ProcInDoubt}, state: fleet.StepPerson, tries: 1},
		"in doubt, safe":           {step: fleet.RunStep{Safe: true}, facts: fleet.StepFacts{State: fleet.ProcInDoubt}, state: fleet.StepWaiting, tries: 1},
		"could not start":          {facts: fleet.StepFacts{State: fleet.ProcFailed, Why: "no such file"}, state: fleet.StepFailed, why: "no such file", tries: 1},
		"unknown":                  {facts: fleet.StepFacts{State: fleet.ProcUnknown}, state: fleet.StepRunning, after: 9 * time.Hour, tries: 1},
		"of another attempt":       {facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(0), Attempt: 2}, state: fleet.StepRunning, tries: 1},
		"not begun, action open":   {facts: fleet.StepFacts{State: fleet.ProcNone}, state: fleet.StepRunning, tries: 1},
		"not begun, held back":     {facts: fleet.StepFacts{State: fleet.ProcNone}, result: fleet.ResultRefused, state: fleet.StepWaiting, why: "held back", tries: 0},
		"not begun, failed":        {facts: fleet.StepFacts{State: fleet.ProcNone}, result: fleet.ResultFailed, state: fleet.StepFailed, tries: 1},
		"not begun, and said done": {facts: fleet.StepFacts{State: fleet.ProcNone}, result: fleet.ResultDone, state: fleet.StepPerson, why: "no trace", tries: 1},
		"too long":                 {facts: fleet.StepFacts{State: fleet.ProcRunning}, after: time.Hour, state: fleet.StepRunning, end: "longer than 1h0m0s", tries: 1},
		"too long, not yet":        {step: fleet.RunStep{Timeout: fleet.Duration(2 * time.Hour)}, facts: fleet.StepFacts{State: fleet.ProcRunning}, after: time.Hour, state: fleet.StepRunning, tries: 1},
		"was ended for its time":   {step: fleet.RunStep{End: endTimeout + "1h"}, facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(0)}, state: fleet.StepFailed, why: "longer than", tries: 1},
		"left children":            {facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(0), Left: left}, state: fleet.StepRunning, end: "left processes behind", tries: 1},
		"children were ended":      {step: fleet.RunStep{End: endLeft}, facts: fleet.StepFacts{State: fleet.ProcEnded, Status: fleet.Known(0)}, state: fleet.StepDone, tries: 1},
		"cancelled, ended":         {step: fleet.RunStep{End: "cancelled by ann", Retries: 3}, cancel: true, facts: fleet.StepFacts{State: fleet.ProcEnded, Signal: fleet.Known(15)}, state: fleet.StepFailed, why: "cancelled by ann", tries: 1},
		"cancelled, still runs":    {step: fleet.RunStep{End: "cancelled by ann"}, cancel: true, facts: fleet.StepFacts{State: fleet.ProcRunning}, state: fleet.StepRunning, end: "cancelled by ann", tries: 1},
		"cancelled, not begun":     {step: fleet.RunStep{End: "cancelled by ann"}, cancel: true, facts: fleet.StepFacts{State: fleet.ProcNone}, result: fleet.ResultRefused, state: fleet.StepFailed, why: "cancelled by ann", tries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.step
			s.ID, s.Do, s.Argv, s.State, s.Attempt, s.Action, s.Since = "a", fleet.StepRun, []string{"x"}, fleet.StepRunning, 1, "act", at(0)
			run := fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, State: fleet.RunOpen, Steps: []fleet.RunStep{s}}
			if c.cancel {
				run.Cancel = "ann"
			}
			if c.facts.Attempt == 0 {
				c.facts.Attempt = 1
			}
			c.facts.Step = "a"
			snap := fleet.Snapshot{At: at(c.after + time.Second)}
			snap.Runs.Status, snap.Runs.Value = fleet.StatusOK, []fleet.RunFacts{{ID: "r1", Steps: []fleet.StepFacts{c.facts}}}
			rec := fleet.ActionRecord{Action: fleet.Action{ID: "act"}, Stage: fleet.StageStarted}
			if c.result != "" {
				rec.Stage, rec.Result = fleet.StageEnded, &fleet.Result{Status: c.result, Why: "so"}
			}
			p := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{run}, Actions: []fleet.ActionRecord{rec}}, Snapshot: snap})
			if len(p.Runs) == 1 {
				run = p.Runs[0]
			}
			got := run.Steps[0]
			if got.State != c.state || !strings.Contains(got.Why, c.why) || !strings.Contains(got.End, c.end) || c.end == "" && got.End != "" || got.Attempt != c.tries {
				t.Errorf("step %s (%s), end %q, attempt %d", got.State, got.Why, got.End, got.Attempt)
			}
			snap.Runs.Status = fleet.StatusStale
			if p := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{run}}, Snapshot: snap}); len(p.Runs) == 1 && p.Runs[0].Steps[0].State != got.State && got.State == fleet.StepRunning {
				t.Errorf("stale facts settle it: %+v", p.Runs[0].Steps[0])
			}
		})
	}
}

// TestLookFromBeforeTheEnd: that nothing was begun is believed only of a look that
// is newer than the end of the action; a look and the past are not of one moment.
func TestLookFromBeforeTheEnd(t *testing.T) {
	for _, status := range []fleet.ResultStatus{fleet.ResultDone, fleet.ResultUnverified, fleet.ResultFailed, fleet.ResultRefused} {
		run := fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, State: fleet.RunOpen, Steps: []fleet.RunStep{
			{ID: "a", Do: fleet.StepRun, Argv: []string{"x"}, Retries: 5, State: fleet.StepRunning, Attempt: 1, Action: "act"}}}
		rec := fleet.ActionRecord{Action: fleet.Action{ID: "act"}, Stage: fleet.StageEnded, Result: &fleet.Result{Status: status, Ended: at(10 * time.Second)}}
		for looked, settles := range map[time.Duration]bool{9 * time.Second: false, 10 * time.Second: true, 11 * time.Second: true} {
			snap := fleet.Snapshot{At: at(12 * time.Second)}
			snap.Runs.Status, snap.Runs.At = fleet.StatusOK, at(looked)
			snap.Runs.Value = []fleet.RunFacts{{ID: "r1", Steps: []fleet.StepFacts{{Step: "a", Attempt: 1, State: fleet.ProcNone}}}}
			p := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{run}, Actions: []fleet.ActionRecord{rec}}, Snapshot: snap})
			if got := len(p.Runs) == 1 && p.Runs[0].Steps[0].State != fleet.StepRunning; got != settles {
				t.Errorf("%s, looked at %s: settled %v, %+v", status, looked, got, p.Runs)
			}
		}
	}
}

// TestUses: five parts of a pass are one patrol; to look again after an action is
// another one.
func TestUses(t *testing.T) {
	uses := func(id, name string, needs ...string) fleet.RunStep {
		return fleet.RunStep{ID: id, Do: fleet.StepUses, Uses: name, Needs: needs}
	}
	run := fleet.Run{ID: "r1", Formula: "supervisor", By: "ann", Mode: fleet.RunSteps, Dir: "/d", Steps: []fleet.RunStep{
		uses("a", "observe"), uses("b", "assess", "a"), uses("c", "act", "b"), uses("d", "report", "c"), uses("e", "journal", "d"),
		uses("f", "observe", "e"), uses("g", "patrol", "f"), uses("m", "mail", "g")}}
	w := newTown(t, run)
	w.benign = true
	w.past.Patrol = 40
	w.passes(30, time.Second)
	r := w.past.Runs[0]
	var patrols []int64
	for _, s := range r.Steps {
		patrols = append(patrols, s.Patrol-40)
	}
	if r.State != fleet.RunDone || fmt.Sprint(patrols) != "[1 1 1 1 1 2 3 4]" && fmt.Sprint(patrols) != "[1 1 1 1 1 2 3 3]" || w.past.Patrol-40 > 4 {
		t.Errorf("run %s: %s, patrols %v of %d", r.State, r.Why, patrols, w.past.Patrol)
	}
	if r.Steps[7].State != fleet.StepDone || r.Steps[7].Output != "" {
		t.Errorf("got %+v", r.Steps[7])
	}
	bad := run
	bad.ID, bad.Steps = "r2", []fleet.RunStep{uses("a", "magic")}
	w = newTown(t, bad)
	w.benign = true
	w.passes(3, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunFailed || !strings.Contains(r.Why, "magic") || !strings.Contains(r.Why, "journal") {
		t.Errorf("run %s: %s", r.State, r.Why)
	}
}

// TestActAwaitsItsActions: what the patrol planned has to be over, and a patrol
// that is not made fails the step in time.
func TestActAwaitsItsActions(t *testing.T) {
	run, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, fleet.Run{ID: "r", Formula: "f", By: "ann", Mode: fleet.RunSteps, Dir: "/d", Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepUses, Uses: "act", Timeout: fleet.Duration(time.Minute)}}}, at(0))
	want(t, err, nil)
	past := fleet.Past{Runs: []fleet.Run{run}}
	p := Advance(fleet.Pass{Past: past, Snapshot: fleet.Snapshot{At: at(0)}})
	if !p.Patrol || !p.Wake || p.Until != at(time.Minute) || p.Runs[0].Steps[0].Patrol != 1 {
		t.Fatalf("got %+v", p)
	}
	past.Runs, past.Patrol, past.PatrolAt = p.Runs, 1, at(time.Second)
	past.Actions = []fleet.ActionRecord{{Action: fleet.Action{Do: "stop-tree"}, Stage: fleet.StageStarted, PlannedAt: at(time.Second)}}
	if p := Advance(fleet.Pass{Past: past, Snapshot: fleet.Snapshot{At: at(2 * time.Second)}}); p.Patrol || len(p.Runs) != 1 || !strings.Contains(p.Runs[0].Why, "stop-tree") {
		t.Fatalf("got %+v", p)
	}
	if p := Advance(fleet.Pass{Past: past, Snapshot: fleet.Snapshot{At: at(time.Hour)}}); p.Runs[0].State != fleet.RunFailed {
		t.Errorf("got %+v", p.Runs)
	}
	past.Actions[0].Stage, past.Actions[0].Result = fleet.StageEnded, &fleet.Result{}
	if p := Advance(fleet.Pass{Past: past, Snapshot: fleet.Snapshot{At: at(3 * time.Second)}}); p.Runs[0].State != fleet.RunDone {
		t.Errorf("got %+v", p.Runs)
	}
}

func TestRunWithoutAgent(t *testing.T) {
	run := proseRun()
	run.Mode, run.Session = fleet.RunSteps, nil
	w := newTown(t, run)
	w.benign = true
	w.passes(3, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunPerson || !strings.Contains(r.Why, "custos formula step done r1 look") {
		t.Fatalf("run %s: %s", r.State, r.Why)
	}
	for _, step := range []string{"look", "write"} {
		got, err := ledger.ReportStep(w.past.Runs[0], step, fleet.StepDone, "", "ann", w.now)
		want(t, err, nil)
		w.past.Runs[0] = got
		w.passes(2, time.Second)
	}
	if r := w.past.Runs[0]; r.State != fleet.RunDone {
		t.Errorf("run %s: %s", r.State, r.Why)
	}
}

// TestStartIsOfThisAttempt: a plan that was made for another attempt starts nothing.
func TestStartIsOfThisAttempt(t *testing.T) {
	run := fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, State: fleet.RunOpen, Steps: []fleet.RunStep{
		{ID: "a", Do: fleet.StepRun, Argv: []string{"x"}, State: fleet.StepReady, Attempt: 1}}}
	for attempt, starts := range map[int]bool{1: false, 2: true, 3: false} {
		plan := fleet.Plan{Actions: []fleet.Action{{ID: "act", Do: doRunStep, Target: fleet.Target{Step: &fleet.StepTarget{Run: run, Step: "a", Attempt: attempt}}}}}
		p := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{run}}, Snapshot: fleet.Snapshot{At: at(0)}, Plan: plan})
		if got := len(p.Runs) == 1 && p.Runs[0].Steps[0].State == fleet.StepRunning; got != starts {
			t.Errorf("attempt %d after 1: started %v", attempt, got)
		}
	}
}
