package runs

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// dependents skips what can never begin, for want of a step that it needs.
func dependents(run *fleet.Run, at fleet.Instant) {
	g := ledger.StepsOf(run)
	spread(run, func(s *fleet.RunStep) bool {
		if s.State != fleet.StepWaiting {
			return false
		}
		n, of := lost(g, s)
		if n == "" {
			return false
		}
		ledger.SetStep(s, fleet.StepSkipped, fmt.Sprintf("it needs step %s, which is %s", n, of), at)
		return true
	})
}

// lost returns a need of the step that will not be done, and what became of it.
func lost(g ledger.StepGraph, s *fleet.RunStep) (string, fleet.StepState) {
	for _, n := range s.Needs {
		if need := g[n]; need != nil && (need.State == fleet.StepFailed || need.State == fleet.StepSkipped) {
			return n, need.State
		}
	}
	return "", ""
}

// spread offers each step of a run to change, and after each change those again that
// need the step which changed: so what follows from what is known in one walk, in
// whichever order the steps stand.
func spread(run *fleet.Run, change func(*fleet.RunStep) bool) {
	todo := make([]*fleet.RunStep, 0, len(run.Steps))
	for i := range run.Steps {
		if s := &run.Steps[i]; change(s) {
			todo = append(todo, s)
		}
	}
	if len(todo) == 0 {
		return
	}
	needers := needersOf(run)
	for ; len(todo) > 0; todo = todo[1:] {
		for _, s := range needers[todo[0].ID] {
			if change(s) {
				todo = append(todo, s)
			}
		}
	}
}

// needersOf lists the steps that need each.
func needersOf(run *fleet.Run) map[string][]*fleet.RunStep {
	out := make(map[string][]*fleet.RunStep, len(run.Steps))
	for i := range run.Steps {
		for _, n := range run.Steps[i].Needs {
			out[n] = append(out[n], &run.Steps[i])
		}
	}
	return out
}
