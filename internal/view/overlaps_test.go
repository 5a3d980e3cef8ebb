package view

import (
	"slices"
	"testing"

	"custos/internal/fleet"
)

// What two change is told of the two, and of each of their agents; of nobody else, and not where it is not seen.
func TestOverlapsAreToldOfTheirAgents(t *testing.T) {
	o := fleet.Overlap{Name: "x", Repo: "/r", One: "/t/a", Other: "/t/b", OneIn: []string{"/t/a"}, OtherIn: []string{"/t/b"},
		Hot: []string{"f:3"}, Soft: []string{"g"}, OfOne: []string{"h"}, OfOther: []string{"i"}, Conflicts: fleet.Known([]string{"f"})}
	want := []string{"/t/a and /t/b, worktrees of /r", "Both change the same lines, as the commit has them that both come from: f:3", "Both change, in other places: g",
		"What an agent in /t/a was started for, /t/b changes: h", "What an agent in /t/b was started for, /t/a changes: i", "What both have committed does not merge in: f"}
	var s fleet.Snapshot
	s.Overlaps.Value, s.Overlaps.Status = []fleet.Overlap{o}, fleet.StatusOK
	if got := overlapFacts(o); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	agent := func(dir string, pid int) fleet.Agent {
		return fleet.Agent{Name: "n", Process: fleet.ProcessID{PID: pid}, CWD: fleet.Known(dir)}
	}
	for _, c := range []struct {
		a    fleet.Agent
		want []string
	}{{agent("/t/a", 1), want}, {agent("/t/b", 1), want}, {agent("/t/c", 1), nil}, {agent("/t/a", 0), nil}} {
		if got := agentOverlaps(&s, c.a); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.a.CWD, got)
		}
	}
	if s.Overlaps.Status = fleet.StatusUnknown; agentOverlaps(&s, agent("/t/a", 1)) != nil {
		t.Error("what is not seen is told")
	}
}
