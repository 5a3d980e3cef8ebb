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
