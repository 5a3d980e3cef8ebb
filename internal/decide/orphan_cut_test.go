package decide

import (
	"testing"

	"custos/internal/fleet"
)

// Where not all repositories are looked at, a folder that lies in none of them may
// lie in one that is not seen: work there is not given to somebody else.
func TestACutLookFindsNoWorkGone(t *testing.T) {
	for cut, known := range map[string]bool{"": true, "of glob 5000 match": false} {
		w := newWorld()
		w.snap.Repos.Cut = cut
		p := newPass(&w.policy, &w.snap, &w.found, &w.past)
		var o orphan
		p.workOf(&o, formerAgent{reg: &fleet.Registration{Name: "dev", Dir: "/w/dev"}})
		if tree, is := o.tree.Get(); is != known || tree {
			t.Errorf("cut %q: the work is in a worktree: %v, known %v", cut, tree, is)
		}
	}
}
