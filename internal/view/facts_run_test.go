package view

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// `custos why run/ID` tells how a run stands, and each command of it that was begun.
func TestFactsOfARun(t *testing.T) {
	var s fleet.Snapshot
	s.Runs.Status = fleet.StatusOK
	s.Runs.Value = []fleet.RunFacts{{ID: "r-1", Formula: "nightly", State: fleet.RunPerson, Why: "step test is in doubt", Waits: "test", Kept: "/w: its agent died",
		Phase: fleet.Known(fleet.Phrase{Word: "escalate", Reason: "which one?"}),
		Steps: []fleet.StepFacts{{Step: "test", Attempt: 1, State: fleet.ProcInDoubt, Why: "its shim was killed", Output: "/o"}, {Step: "test", Attempt: 2, State: fleet.ProcNone}}}}
	of := fleet.Subject{Kind: fleet.KindRun, Name: "r-1"}
	if !slices.Contains(Subjects(&s), of) {
		t.Error("it is no subject")
	}
	got := strings.Join(facts(&s, of), "\n")
	for _, want := range []string{"nightly, needs a person", "in doubt", "for a person: test", "/w: its agent died", "phase escalate: which one?", "test, attempt 1: in doubt, its shim was killed; it prints to /o"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	if strings.Contains(got, "attempt 2") {
		t.Errorf("%q tells of what was never begun", got)
	}
	if got := facts(&s, fleet.Subject{Kind: fleet.KindRun, Name: "r-9"}); !slices.Equal(got, []string{"It is not there now."}) {
		t.Errorf("%q", got)
	}
}
