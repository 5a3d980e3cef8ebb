package merge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// resolveAfter is how long the author of an item has to bring it in, while that is there.
const resolveAfter = time.Hour

// resolve has other agents bring in what is stuck, and tries an item again once they have. Which agent does it, and when,
// follows as with all work.
func (c *pass) resolve() {
	held, _ := c.book.Holds()
	for n := range c.book.Items {
		was := &c.book.Items[n]
		is, in := c.toResolve(was)
		if in > 0 {
			c.out.Due(c.at, c.at.Add(in))
		}
		if !is || held != "" {
			continue
		}
		if w, err := ledger.AskResolve(c.queue, *was, c.at); err == nil {
			c.out.Records.Work = append(c.out.Records.Work, w)
		}
	}
	c.resolved()
}

// resolved goes on from the work by which items were to be brought in.
func (c *pass) resolved() {
	for _, w := range c.Past.Records.Work {
		r := w.Resolves
		if r == nil || r.Queue != c.queue.Name {
			continue
		}
		was := c.book.Item(r.Item)
		again, needless := ledger.Resolved(was, &w)
		if again {
			i := c.item(r.Item)
			*i = ledger.Repin(*i, i.Commit, c.at)
		}
		if !needless {
			continue
		}
		if done, err := ledger.CloseWork(w, "outdated", fmt.Sprintf("%s is %s, at %.12s", was.ID, was.State, was.Commit), fleet.ByCustos, c.at); err == nil {
			c.out.Records.Work = append(c.out.Records.Work, done)
		}
	}
}

// toResolve says whether another agent is to bring an item in: it is stuck, its author is gone or has not touched it for an hour,
// and no other agent has, or is to be handed, what it is for. In is how long that is to last yet, where only time is wanting.
// What a review has blocked, and what has nothing to merge, is its author's or a person's.
func (c *pass) toResolve(i *fleet.MergeItem) (is bool, in time.Duration) {
	if c.queue.Resolve == "" || i.State != fleet.MergeConflict && !c.isBlamed(i) || c.book.Resolution(i) != nil || ledger.IsElsewhere(i, c.Pass) {
		return false, 0
	}
	if i.Agent != "" && c.isGoneForGood(i.Agent) {
		return true, 0
	}
	in = resolveAfter - c.at.Since(i.Since)
	return in <= 0, max(in, 0)
}

// isBlamed says whether an item has failed for its gates.
func (c *pass) isBlamed(i *fleet.MergeItem) bool {
	return i.State == fleet.MergeFailed && !strings.HasPrefix(i.Why, fleet.MergeBlocked) && slices.ContainsFunc(c.book.Groups, func(g fleet.MergeGroup) bool {
		return g.State == fleet.GroupRed && len(g.Items) == 1 && g.Items[0] == fleet.MergeMember{ID: i.ID, Commit: i.Commit}
	})
}

// isGoneForGood says whether no process of an agent is seen, by a look that would show it, and it is not started again.
func (c *pass) isGoneForGood(agent string) bool {
	r, seen := ledger.Registration(c.Past.Registrations, agent), c.Snapshot.Agents
	if r != nil && r.Desired == fleet.DesiredRunning && r.Failed == "" && !ledger.HasFinished(r) {
		return false
	}
	return seen.Fresh() && !slices.ContainsFunc(seen.Value, func(a fleet.Agent) bool {
		return a.Name == agent && (a.Process.PID != 0 || a.State == fleet.StateUnknown)
	})
}
