package act

import (
	"testing"

	"custos/internal/fleet"
)

// A start in a folder by a link does not run beside the removal of what the link leads to.
func TestAClaimReachesPastLinks(t *testing.T) {
	removal := claims(fleet.Action{Target: fleet.Target{Worktree: &fleet.Worktree{Path: "/w/x"}}, Subject: fleet.Subject{Kind: fleet.KindWorktree, Name: "/w/x"}})
	for real, want := range map[string]bool{"/w/x": true, "/w/y": false} {
		start := claims(fleet.Action{Target: fleet.Target{Registration: &fleet.Registration{Dir: "/link/x", Worktree: "/link/x", Real: real}}, Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "dev"}})
		if got := clash(removal, start); got != want {
			t.Errorf("a link to %s clashes: %v", real, got)
		}
	}
}
