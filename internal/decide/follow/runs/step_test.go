package runs

import (
	"testing"

	"custos/internal/fleet"
)

// A command that cannot be begun on this machine at all fails with the cause, whatever
// its retries; what needs no command goes on.
func TestStepThatCannotBeBegun(t *testing.T) {
	past, snap := dayOfRuns(1)
	r := &past.Runs[0]
	r.State, r.EndedAt, r.Session, r.Mode = fleet.RunOpen, fleet.Instant{}, nil, fleet.RunSteps
	r.Steps = []fleet.RunStep{
		{ID: "make", Do: fleet.StepRun, Argv: []string{"make"}, State: fleet.StepReady, Retries: 3},
		{ID: "read", Do: fleet.StepProse, State: fleet.StepWaiting},
		{ID: "ship", Do: fleet.StepProse, State: fleet.StepWaiting, Needs: []string{"make"}},
	}
	policy := fleet.Policy{Abilities: map[string]fleet.Ability{doRunStep: {Do: doRunStep, Cannot: "cannot find custos-shim", Needs: "make build"}}}
	out := Advance(fleet.Pass{Past: past, Snapshot: snap, Policy: policy})
	if len(out.Runs) != 1 {
		t.Fatalf("%d runs changed", len(out.Runs))
	}
	is := out.Runs[0].Steps
	if s := is[0]; s.State != fleet.StepFailed || s.Why != "it cannot be begun here: cannot find custos-shim (make build)" {
		t.Errorf("it is %s: %s", s.State, s.Why)
	}
	if is[1].State != fleet.StepPerson || is[2].State != fleet.StepSkipped {
		t.Errorf("the others are %s and %s", is[1].State, is[2].State)
	}
}
