package view

import (
	"testing"

	"custos/internal/fleet"
)

func TestWorkNamesWhatItWaitsFor(t *testing.T) {
	w := fleet.WorkFacts{Ref: "w1", Title: "a", State: fleet.Known(fleet.WorkOpen), BlockedBy: []fleet.Ref{"w2", "nowhere#3"}}
	if got, want := workLines(w)[0], "Work w1: a, open; waits for w2, nowhere#3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
