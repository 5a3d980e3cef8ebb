package library

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

func TestRunID(t *testing.T) {
	for _, c := range [][3]string{{"nightly", "3f2a91c0", "nightly-3f2a91c0"}, {"a b/../c", "x", "a-b-..-c-x"}, {"-x-", "../y", "x-y"}, {strings.Repeat("é", 100), "z", "z"}} {
		if got := RunID(c[0], c[1]); got != c[2] {
			t.Errorf("%q, %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if a, b := RunID("n", ""), RunID("n", ""); a == b || len(a) != 10 {
		t.Errorf("%q and %q", a, b)
	}
}

// Only what failed counts, up to the newest that went well.
func TestFailuresInARow(t *testing.T) {
	const d, f, s, c, o = fleet.RunDone, fleet.RunFailed, fleet.RunSkipped, fleet.RunCancelled, fleet.RunOpen
	for want, runs := range map[int][]fleet.RunState{0: {f, d, s}, 1: {d, f, o}, 2: {f, d, f, s, c, f}, 3: {f, f, f}} {
		var list []fleet.Run
		for _, state := range runs {
			list = append(list, fleet.Run{State: state, Why: "no"})
		}
		if got := FailuresInARow(list); got != want {
			t.Errorf("%v: %d, want %d", runs, got, want)
		}
	}
}
