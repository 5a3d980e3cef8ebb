package ledger

import "custos/internal/fleet"

// StepGraph is the steps of one run by name, where they are: a run may have thousands,
// and each asks for what it needs.
type StepGraph map[string]*fleet.RunStep

// StepsOf are the steps of a run by their IDs.
func StepsOf(run *fleet.Run) StepGraph {
	g := make(StepGraph, len(run.Steps))
	for i := range run.Steps {
		g[run.Steps[i].ID] = &run.Steps[i]
	}
	return g
}

// Unmet returns a need of the step that is not done; "" when all are.
func (g StepGraph) Unmet(s *fleet.RunStep) string {
	for _, n := range s.Needs {
		if need := g[n]; need == nil || need.State != fleet.StepDone {
			return n
		}
	}
	return ""
}
