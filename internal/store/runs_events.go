package store

import (
	"fmt"

	"custos/internal/fleet"
)

// runChanges lists what is new in r, as events: of the run, and of each step that
// moved.
func runChanges(old *fleet.Run, r fleet.Run) (list []fleet.Event) {
	add := func(kind, name, text string) {
		list = append(list, fleet.Event{Kind: kind, Subject: fleet.Subject{Kind: fleet.KindRun, Name: name}, Text: fleet.Line(text, 400)})
	}
	if old == nil {
		add("run.taken", r.ID, runWords(r))
		old = &fleet.Run{State: fleet.RunOpen, Steps: untouched(r.Steps)}
	}
	for i, s := range r.Steps {
		if i >= len(old.Steps) || old.Steps[i].State != s.State || old.Steps[i].Attempt != s.Attempt {
			add("run.step", r.ID+"/"+s.ID, stepWords(s))
		}
	}
	if old.State == r.State {
		return list
	}
	switch {
	case r.IsOver():
		add("run.ended", r.ID, withWhy(string(r.State), r.Why))
	case r.State == fleet.RunPerson:
		add("run.person", r.ID, withWhy(string(r.State), r.Why))
	default:
		add("run.resumed", r.ID, fmt.Sprintf("%s, was %s", r.State, old.State))
	}
	return list
}

// untouched is how the steps of a run are before anything became of them.
func untouched(steps []fleet.RunStep) []fleet.RunStep {
	out := make([]fleet.RunStep, len(steps))
	for i := range out {
		out[i].State = fleet.StepWaiting
	}
	return out
}

// runWords is "formula deploy for web, 5 steps, by ann".
func runWords(r fleet.Run) string {
	words := "formula " + r.Formula
	if r.Project != "" {
		words += " for " + r.Project
	}
	words += fmt.Sprintf(", %s, by %s", fleet.Counted(len(r.Steps), "step"), r.By)
	if r.Schedule != "" {
		words += ", schedule " + r.Schedule
	}
	return words
}

// stepWords is "failed, attempt 2: it exited with status 1".
func stepWords(s fleet.RunStep) string {
	words := string(s.State)
	if s.Attempt > 1 {
		words += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	return withWhy(words, s.Why)
}

// withWhy is "failed: it exited with status 1": words, and what there is besides.
func withWhy(words string, besides ...string) string {
	for _, more := range besides {
		if more != "" {
			words += ": " + more
		}
	}
	return words
}
