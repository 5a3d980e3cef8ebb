package agents

import (
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
