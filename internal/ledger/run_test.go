package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestTakeRun(t *testing.T) {
	open := proseRun()
	open.ID, open.State = "r0", fleet.RunPerson
	over := open
	over.State = fleet.RunFailed
	other := open
	other.Project = "q"
	change := func(c func(*fleet.Run)) fleet.Run {
		r := proseRun()
		c(&r)
		return r
	}
	steps := func(list ...fleet.RunStep) fleet.Run { return change(func(r *fleet.Run) { r.Steps = list }) }
	prose := func(id string, needs ...string) fleet.RunStep {
		return fleet.RunStep{ID: id, Do: fleet.StepProse, Needs: needs}
	}
	var many []fleet.RunStep
	for i := range mostSteps + 1 {
		many = append(many, prose(fmt.Sprint(i)))
	}
	for name, c := range map[string]struct {
		run  fleet.Run
		past []fleet.Run
		want error
	}{
		"plain":                {proseRun(), nil, nil},
		"after one that ended": {proseRun(), []fleet.Run{over}, nil},
		"of another project":   {proseRun(), []fleet.Run{other}, nil},
		"single-flight":        {proseRun(), []fleet.Run{over, open}, ErrTaken},
		"its ID is known":      {proseRun(), []fleet.Run{proseRun()}, ErrTaken},
		"no ID":                {change(func(r *fleet.Run) { r.ID = "" }), nil, ErrIllegal},
		"a path as ID":         {change(func(r *fleet.Run) { r.ID = "../x" }), nil, ErrIllegal},
		"an option as ID":      {change(func(r *fleet.Run) { r.ID = "-rf" }), nil, ErrIllegal},
		"too long an ID":       {change(func(r *fleet.Run) { r.ID = strings.Repeat("x", 71) }), nil, ErrIllegal},
		"nobody asks":          {change(func(r *fleet.Run) { r.By = "" }), nil, ErrIllegal},
		"no folder":            {change(func(r *fleet.Run) { r.Dir = "runs" }), nil, ErrIllegal},
		"no mode":              {change(func(r *fleet.Run) { r.Mode = "" }), nil, ErrIllegal},
		"no steps":             {steps(), nil, ErrIllegal},
		"too many steps":       {steps(many...), nil, ErrIllegal},
		"two of one name":      {steps(prose("a"), prose("a")), nil, ErrIllegal},
		"a missing need":       {steps(prose("a", "b")), nil, ErrIllegal},
		"a circle":             {steps(prose("a", "c"), prose("b", "a"), prose("c", "b")), nil, ErrIllegal},
		"needs itself":         {steps(prose("a", "a")), nil, ErrIllegal},
		"nothing to run":       {steps(fleet.RunStep{ID: "a", Do: fleet.StepRun}), nil, ErrIllegal},
		"two things to run":    {steps(fleet.RunStep{ID: "a", Do: fleet.StepRun, Argv: []string{"x"}, Script: "y"}), nil, ErrIllegal},
		"no kind of step":      {steps(fleet.RunStep{ID: "a"}), nil, ErrIllegal},
		"retries for ever":     {steps(fleet.RunStep{ID: "a", Do: fleet.StepRun, Argv: []string{"x"}, Retries: 1e6}), nil, ErrIllegal},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := TakeRun(fleet.Past{Runs: c.past}, fleet.RunPolicy{}, c.run, at(0))
			want(t, err, c.want)
			if err == nil && (got.State != fleet.RunOpen || got.At != at(0) || got.Steps[0].State != fleet.StepWaiting) {
				t.Errorf("got %+v", got)
			}
		})
	}
	got, err := TakeRun(fleet.Past{}, fleet.RunPolicy{Disabled: []string{"f"}}, proseRun(), at(0))
	if err != nil || got.State != fleet.RunSkipped || !got.IsOver() || got.EndedAt.IsZero() {
		t.Errorf("disabled: %+v, %v", got, err)
	}
}

func TestReportStep(t *testing.T) {
	run, err := TakeRun(fleet.Past{}, fleet.RunPolicy{}, proseRun(), at(0))
	if err != nil {
		t.Fatal(err)
	}
	run.Steps = append(run.Steps, fleet.RunStep{ID: "build", Do: fleet.StepRun, State: fleet.StepPerson})
	me := fleet.ByAgent("r1")
	done, err := ReportStep(run, "look", fleet.StepDone, "saw \x1b[31mit", me, at(time.Second))
	want(t, err, nil)
	if s := done.Steps[0]; s.State != fleet.StepDone || s.By != me || strings.Contains(s.Note, "\x1b") || run.Steps[0].State != fleet.StepWaiting {
		t.Errorf("got %+v", s)
	}
	over := run
	over.State = fleet.RunFailed
	cancelled, err := CancelRun(run, "ann", at(0))
	want(t, err, nil)
	for name, c := range map[string]struct {
		run      fleet.Run
		step, by string
		to       fleet.StepState
		want     error
	}{
		"again":                 {done, "look", me, fleet.StepDone, nil},
		"otherwise":             {done, "look", me, fleet.StepFailed, ErrTaken},
		"the next at once":      {done, "write", me, fleet.StepFailed, nil},
		"before its need":       {run, "write", me, fleet.StepDone, ErrIllegal},
		"by a person":           {run, "look", "ann", fleet.StepDone, nil},
		"by another agent":      {run, "look", fleet.ByAgent("r2"), fleet.StepDone, ErrIllegal},
		"by Custos":             {run, "look", fleet.ByCustos, fleet.StepDone, ErrIllegal},
		"by nobody":             {run, "look", "", fleet.StepDone, ErrIllegal},
		"no such step":          {run, "dance", me, fleet.StepDone, ErrIllegal},
		"no such word":          {run, "look", me, fleet.StepSkipped, ErrIllegal},
		"a step of Custos":      {run, "build", me, fleet.StepDone, ErrIllegal},
		"doubt, by a person":    {run, "build", "ann", fleet.StepDone, ErrIllegal},
		"of a run that is over": {over, "look", me, fleet.StepDone, ErrIllegal},
		"of a cancelled run":    {cancelled, "look", me, fleet.StepDone, ErrIllegal},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReportStep(c.run, c.step, c.to, "", c.by, at(0))
			want(t, err, c.want)
		})
	}
}

func TestCancelAndResume(t *testing.T) {
	for _, state := range []fleet.RunState{fleet.RunOpen, fleet.RunPerson, fleet.RunDone, fleet.RunFailed, fleet.RunSkipped, fleet.RunCancelled} {
		run := proseRun()
		run.State = state
		run.Steps = []fleet.RunStep{{ID: "a", Do: fleet.StepRun, State: fleet.StepRunning}, {ID: "b", Do: fleet.StepRun, State: fleet.StepReady}, {ID: "c", State: fleet.StepDone}, {ID: "d", State: fleet.StepPerson}}
		got, err := CancelRun(run, "ann", at(0))
		switch state {
		case fleet.RunOpen, fleet.RunPerson:
			want(t, err, nil)
			if got.Cancel != "ann" || got.Steps[0].End == "" || got.Steps[1].State != fleet.StepSkipped || got.Steps[2].State != fleet.StepDone || got.Steps[3].State != fleet.StepSkipped || got.IsOver() {
				t.Errorf("%s: %+v", state, got)
			}
		case fleet.RunCancelled:
			want(t, err, nil)
		default:
			want(t, err, ErrIllegal)
		}
		if _, err := CancelRun(run, fleet.ByAgent("x"), at(0)); !errors.Is(err, ErrIllegal) {
			t.Errorf("an agent cancels: %v", err)
		}
	}
	run := proseRun()
	run.State = fleet.RunFailed
	run.Steps = []fleet.RunStep{{ID: "a", Do: fleet.StepRun, State: fleet.StepFailed, Attempt: 1}, {ID: "b", Needs: []string{"a"}, State: fleet.StepSkipped}}
	other := proseRun()
	other.ID, other.State = "r2", fleet.RunOpen
	got, err := ResumeRun([]fleet.Run{run}, run, "a", ResumeAgain, "ann", at(0))
	want(t, err, nil)
	if got.State != fleet.RunOpen || got.Steps[0].State != fleet.StepWaiting || got.Steps[0].Attempt != 1 || got.Steps[1].State != fleet.StepWaiting {
		t.Errorf("got %+v", got)
	}
	got, err = ResumeRun(nil, run, "", ResumeDone, "ann", at(0))
	want(t, err, nil)
	if got.Steps[0].State != fleet.StepDone || got.Steps[0].By != "ann" {
		t.Errorf("got %+v", got)
	}
	_, err = ResumeRun([]fleet.Run{run, other}, run, "a", ResumeAgain, "ann", at(0))
	want(t, err, ErrTaken)
	for _, c := range [][3]string{{"a", ResumeAgain, fleet.ByCustos}, {"a", "maybe", "ann"}, {"b", ResumeAgain, "ann"}, {"x", ResumeAgain, "ann"}} {
		_, err = ResumeRun(nil, run, c[0], c[1], c[2], at(0))
		want(t, err, ErrIllegal)
	}
	run.State = fleet.RunCancelled
	run.Cancel = "ann"
	_, err = ResumeRun(nil, run, "", ResumeAgain, "ann", at(0))
	want(t, err, ErrIllegal)
}

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
			p := Advance(fleet.Past{Runs: []fleet.Run{run}, Actions: []fleet.ActionRecord{rec}}, snap, fleet.Policy{}, fleet.Plan{})
			if len(p.Runs) == 1 {
				run = p.Runs[0]
			}
			got := run.Steps[0]
			if got.State != c.state || !strings.Contains(got.Why, c.why) || !strings.Contains(got.End, c.end) || c.end == "" && got.End != "" || got.Attempt != c.tries {
				t.Errorf("step %s (%s), end %q, attempt %d", got.State, got.Why, got.End, got.Attempt)
			}
			snap.Runs.Status = fleet.StatusStale
			if p := Advance(fleet.Past{Runs: []fleet.Run{run}}, snap, fleet.Policy{}, fleet.Plan{}); len(p.Runs) == 1 && p.Runs[0].Steps[0].State != got.State && got.State == fleet.StepRunning {
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
			p := Advance(fleet.Past{Runs: []fleet.Run{run}, Actions: []fleet.ActionRecord{rec}}, snap, fleet.Policy{}, fleet.Plan{})
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
	run, err := TakeRun(fleet.Past{}, fleet.RunPolicy{}, fleet.Run{ID: "r", Formula: "f", By: "ann", Mode: fleet.RunSteps, Dir: "/d", Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepUses, Uses: "act", Timeout: fleet.Duration(time.Minute)}}}, at(0))
	want(t, err, nil)
	past := fleet.Past{Runs: []fleet.Run{run}}
	p := Advance(past, fleet.Snapshot{At: at(0)}, fleet.Policy{}, fleet.Plan{})
	if !p.Patrol || !p.Wake || p.Until != at(time.Minute) || p.Runs[0].Steps[0].Patrol != 1 {
		t.Fatalf("got %+v", p)
	}
	past.Runs, past.Patrol, past.PatrolAt = p.Runs, 1, at(time.Second)
	past.Actions = []fleet.ActionRecord{{Action: fleet.Action{Do: "stop-tree"}, Stage: fleet.StageStarted, PlannedAt: at(time.Second)}}
	if p := Advance(past, fleet.Snapshot{At: at(2 * time.Second)}, fleet.Policy{}, fleet.Plan{}); p.Patrol || len(p.Runs) != 1 || !strings.Contains(p.Runs[0].Why, "stop-tree") {
		t.Fatalf("got %+v", p)
	}
	if p := Advance(past, fleet.Snapshot{At: at(time.Hour)}, fleet.Policy{}, fleet.Plan{}); p.Runs[0].State != fleet.RunFailed {
		t.Errorf("got %+v", p.Runs)
	}
	past.Actions[0].Stage, past.Actions[0].Result = fleet.StageEnded, &fleet.Result{}
	if p := Advance(past, fleet.Snapshot{At: at(3 * time.Second)}, fleet.Policy{}, fleet.Plan{}); p.Runs[0].State != fleet.RunDone {
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
		got, err := ReportStep(w.past.Runs[0], step, fleet.StepDone, "", "ann", w.now)
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
		p := Advance(fleet.Past{Runs: []fleet.Run{run}}, fleet.Snapshot{At: at(0)}, fleet.Policy{}, plan)
		if got := len(p.Runs) == 1 && p.Runs[0].Steps[0].State == fleet.StepRunning; got != starts {
			t.Errorf("attempt %d after 1: started %v", attempt, got)
		}
	}
}
