package git

import (
	"errors"
	"testing"

	"custos/internal/fleet"
)

// TestWorktreesOfABrokenRepositoryAreHeld: they are not gone because git cannot
// list them now.
func TestWorktreesOfABrokenRepositoryAreHeld(t *testing.T) {
	w := fleet.Worktree{Path: "/w/a", Repo: "/r", Dirty: fleet.Known(0), Removable: fleet.Known(true)}
	l := &look{}
	l.unlist("/r", errors.New("broken"))
	var seen fleet.Repos
	l.hold(&seen, fleet.Repos{Worktrees: []fleet.Worktree{w, {Path: "/w/b", Repo: "/other"}}})
	if len(seen.Worktrees) != 1 || seen.Worktrees[0].Path != "/w/a" {
		t.Fatalf("held %+v", seen.Worktrees)
	}
	if seen.Worktrees[0].Removable.IsKnown() || seen.Worktrees[0].Dirty.IsKnown() {
		t.Error("what is not seen now is known")
	}
}
