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

// An agent that is started again takes hold of the folders that it is registered to, wherever
// the one that is seen was last: what would remove them waits, in this pass and while it is
// under way.
func TestARecoveryHoldsTheRegisteredPlace(t *testing.T) {
	tree := fleet.Subject{Kind: fleet.KindWorktree, Name: "/w/x"}
	removal := claimOf(tree, fleet.Target{Worktree: &fleet.Worktree{Path: "/w/x"}}, false)
	for name, seen := range map[string]fleet.Agent{
		"nobody knows where it was": {Name: "dev", Owner: fleet.OwnerCustos, State: fleet.StateCrashed},
		"it was elsewhere":          {Name: "dev", Owner: fleet.OwnerCustos, State: fleet.StateCrashed, CWD: fleet.Known("/tmp")},
	} {
		past := fleet.Past{Registrations: []fleet.Registration{{Name: "dev", Owner: fleet.OwnerCustos, Worktree: "/w/x", Dir: "/w/x", Desired: fleet.DesiredRunning}}}
		policy := fleet.Policy{Abilities: map[string]fleet.Ability{doRecover: {Do: doRecover, Starts: true}}}
		order := fleet.Order{Do: fleet.OrderRecover, Agent: "dev", By: "ann"}
		p := newPass(&policy, &fleet.Snapshot{}, &fleet.Assessment{}, &past)
		f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: "agent-crashed", Subject: agentSubject("dev")}}
		asked := map[string]*request{
			"by a rule":   p.request(f, &fleet.Wish{Do: doRecover, Subject: agentSubject("dev"), Target: fleet.Target{Agent: &seen}}),
			"by an order": p.orderRequest(&order),
		}
		for by, r := range asked {
			planned, under := newClaims(), newClaims()
			planned.add(r.claim, holder{})
			a := p.action(r)
			under.add(claimOf(a.Subject, a.Target, false), holder{})
			for when, held := range map[string]claims{"planned": planned, "under way": under} {
				if _, _, is := held.conflict(removal); !is {
					t.Errorf("%s, %s, %s: the removal of its worktree is not held", name, by, when)
				}
			}
		}
	}
}
