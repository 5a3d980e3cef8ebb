package decide

import (
	"testing"

	"custos/internal/fleet"
)

// An agent that is started in a folder by a link, and what would remove the folder that the
// link leads to, have a hold on one thing.
func TestAClaimReachesPastLinks(t *testing.T) {
	tree := fleet.Subject{Kind: fleet.KindWorktree, Name: "/w/x"}
	removal := claimOf(tree, fleet.Target{Worktree: &fleet.Worktree{Path: "/w/x"}}, false)
	for name, c := range map[string]struct {
		reg  fleet.Registration
		held bool
	}{
		"by its path": {fleet.Registration{Dir: "/w/x"}, true},
		"by a link":   {fleet.Registration{Dir: "/link/x", Worktree: "/link/x", Real: "/w/x"}, true},
		"elsewhere":   {fleet.Registration{Dir: "/link/y", Real: "/w/y"}, false},
	} {
		start := claimOf(agentSubject("dev"), fleet.Target{Registration: &c.reg}, false)
		for _, pair := range [][2]claim{{removal, start}, {start, removal}} {
			held := newClaims()
			held.add(pair[0], holder{})
			if _, _, is := held.conflict(pair[1]); is != c.held {
				t.Errorf("%s: in the way of each other is %v", name, is)
			}
		}
	}
}
