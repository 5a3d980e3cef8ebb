package agents

import (
	"fmt"
	"slices"
	"testing"

	"custos/internal/fleet"
)

func TestWhoWorksInOneFolder(t *testing.T) {
	at := func(name string, pid int, dir string) fleet.Agent {
		return fleet.Agent{Name: name, Process: fleet.ProcessID{PID: pid, Start: 1}, CWD: fleet.Known(dir)}
	}
	child, once, ours := at("child", 5, "/w/a"), at("once", 6, "/w/a"), at("ours", 8, "/w/b/sub")
	once.OneShot, ours.Worktree = true, "/w/b"
	parent := at("one", 1, "/w/a")
	parent.Procs = []fleet.ProcessID{parent.Process, child.Process}
	lost := at("lost", 7, "")
	lost.CWD = fleet.Unknown[string]("permission denied")
	found := []fleet.Agent{parent, child, once, at("two", 2, "/w/a"), at("three", 3, "/w/b"), at("gone", 0, "/w/a"), lost, ours, at("alone", 9, "/w/c")}
	seeBeside(found)
	for i, want := range [][]string{{"two"}, {"two"}, {}, {"child", "one"}, {"ours"}, {}, nil, {"three"}, {}} {
		got, known := found[i].Beside.Get()
		if known != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %q (%v), want %q", found[i].Name, got, known, want)
		}
	}
}

// Hundreds in one folder name the first twenty of the others, the first by name among
// them: the rule about it is true of that one alone.
func TestOfManyInOneFolderTheFirstAreNamed(t *testing.T) {
	var found []fleet.Agent
	for i := range 300 {
		found = append(found, fleet.Agent{Name: fmt.Sprintf("a%03d", 299-i), Process: fleet.ProcessID{PID: i + 1, Start: 1}, CWD: fleet.Known("/w")})
	}
	seeBeside(found)
	first, last := found[299].Beside.Or(nil), found[0].Beside.Or(nil)
	if len(first) != 20 || len(last) != 20 || first[0] != "a001" || last[0] != "a000" || last[19] != "a019" {
		t.Errorf("of 300 in one folder, the first has %q beside it, the last %q", first, last)
	}
}
