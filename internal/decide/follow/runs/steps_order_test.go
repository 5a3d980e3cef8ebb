package runs

import (
	"fmt"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// backward is a run of n steps, each of which needs the one that stands after it.
func backward(n int) fleet.Run {
	r := fleet.Run{ID: "r", State: fleet.RunOpen, Mode: fleet.RunSteps}
	for i := range n {
		s := fleet.RunStep{ID: fmt.Sprintf("s%d", i), Do: fleet.StepProse, State: fleet.StepWaiting}
		if i < n-1 {
			s.Needs = []string{fmt.Sprintf("s%d", i+1)}
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

// What follows for ten thousand steps is found in one walk, however they stand: each
// is asked once, and once more for each need that changed.
func TestSpread(t *testing.T) {
	r := backward(10_000)
	r.Steps[len(r.Steps)-1].State = fleet.StepFailed
	g, asked := ledger.StepsOf(&r), 0
	spread(&r, func(s *fleet.RunStep) bool {
		asked++
		n, _ := lost(g, s)
		if s.State != fleet.StepWaiting || n == "" {
			return false
		}
		s.State = fleet.StepSkipped
		return true
	})
	if asked > 2*len(r.Steps) {
		t.Errorf("%d questions for %d steps", asked, len(r.Steps))
	}
	for i := range r.Steps[:len(r.Steps)-1] {
		if r.Steps[i].State != fleet.StepSkipped {
			t.Fatalf("step %d is %s", i, r.Steps[i].State)
		}
	}
}

// A failure skips all that needs it, and a phase finishes all that is left.
func TestLongChains(t *testing.T) {
	r := backward(10_000)
	finishProse(&r, fleet.Instant{})
	for i := range r.Steps {
		if r.Steps[i].State != fleet.StepDone {
			t.Fatalf("step %d is %s", i, r.Steps[i].State)
		}
	}
	r = backward(10_000)
	r.Steps[9_999].State = fleet.StepFailed
	dependents(&r, fleet.Instant{})
	if s := r.Steps[0]; s.State != fleet.StepSkipped || s.Why != "it needs step s1, which is skipped" {
		t.Errorf("the first step is %s: %s", s.State, s.Why)
	}
}
