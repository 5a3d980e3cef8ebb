package agentrun

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"custos/internal/act"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

func TestNeverItsOwnAncestors(t *testing.T) {
	line, err := proc.Lineage()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range line {
		if err := allowed(proc.Member{ID: id, UID: os.Getuid()}, line); !errors.Is(err, act.ErrRefused) {
			t.Errorf("process %d: %v, want refused", id.PID, err)
		}
	}
	if err := allowed(proc.Member{ID: proc.ID{PID: 4_000_000}, UID: os.Getuid() + 1}, line); !errors.Is(err, act.ErrRefused) {
		t.Errorf("another user's: %v, want refused", err)
	}
	if err := allowed(proc.Member{ID: proc.ID{PID: 4_000_000}, UID: os.Getuid()}, line); err != nil {
		t.Errorf("our own: %v", err)
	}
}

// What carries the marker belongs to the tree, whoever is its parent; what
// carries another one does not.
func TestWhatCarriesTheMarkerBelongsToTheTree(t *testing.T) {
	root, same, other := sleeper(t, "one:a1"), sleeper(t, "one:a1"), sleeper(t, "one:a12")
	tree := Tree{Marker: Marker("one", "a1")}
	tree.Take(root)
	members, err := tree.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has := func(h *proc.Handle) bool {
		return slices.ContainsFunc(members, func(m proc.Member) bool { return m.ID == h.ID() })
	}
	if len(members) != 2 || !has(root) || !has(same) || has(other) {
		t.Errorf("members %+v, want the root and the one of its marker", members)
	}
}

// sleeper starts a process with a marker, held.
func sleeper(t *testing.T, marker string) *proc.Handle {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), shim.Marker+"="+marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	stat, err := proc.NewReader(proc.TableOptions{}).Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	h, err := proc.Open(stat.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}
