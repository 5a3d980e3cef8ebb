package merge

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// hasLanded says whether the target was read, and stands at the commit of a group, or beyond.
func (c *pass) hasLanded(g *fleet.MergeGroup) bool {
	r := c.result(doLand, g.ID, g.Since)
	return r != nil && (r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded)
}

// landed takes note of it: what is in the target is merged, whatever was said of it meanwhile. A
// branch that is at another commit now goes on with that.
func (c *pass) landed(g *fleet.MergeGroup) {
	c.to(g, fleet.GroupLanded, "")
	for _, m := range g.Items {
		if i := c.item(m.ID); i != nil && i.Commit == m.Commit {
			c.merged(i, g.Commit)
		}
	}
}

// refused goes on from why a group has not landed.
func (c *pass) refused(g *fleet.MergeGroup) {
	r := c.result(doLand, g.ID, g.Since)
	switch {
	case r == nil:
	case r.Merge != nil && r.Merge.Declined != "":
		c.hold(g, c.queue.Target+" was not allowed to move: "+r.Merge.Declined)
	case r.Merge != nil && (len(r.Merge.Left) > 0 || r.Merge.Base != ""):
		for _, l := range r.Merge.Left {
			if i := c.item(l.ID); i != nil && i.State == fleet.MergeWaiting {
				c.leave(i, l)
			}
		}
		c.drop(g, r.Why)
	default:
		g.Why = fleet.Line(r.Why, 400)
	}
}

// merged notes that an item is in the target, closes what it was for, and tells its author.
func (c *pass) merged(i *fleet.MergeItem, commit string) {
	known := fleet.Records{Work: slices.Clone(c.Past.Records.Work)}
	now, work := ledger.MergeLanded(known.And(c.out.Records), *i, commit, c.at)
	*i = now
	c.out.Records.Work = append(c.out.Records.Work, work...)
	text := fmt.Sprintf("%s moved to %.12s.\n", c.queue.Target, commit)
	for _, w := range work {
		text += "Closed: " + w.ID + " (" + w.Title + ")\n"
	}
	c.tell(i, "merged", fmt.Sprintf("%s (%s) is merged", i.ID, i.Source), text)
}

// fail notes that the gates fail with an item alone, and not without it.
func (c *pass) fail(i *fleet.MergeItem, g *fleet.MergeGroup) {
	i.State, i.Since = fleet.MergeFailed, c.at
	i.Why = fleet.Line(fmt.Sprintf("%s on %s alone, and the gates pass on %s without it (%s)", g.Why, i.ID, c.queue.Target, g.ID), 400)
	where := ""
	if g.Run != "" {
		where = "\ncustos formula show " + g.Run + " says where its output is.\n"
	}
	c.tell(i, "failed", fmt.Sprintf("%s (%s) is not merged: its gates fail", i.ID, i.Source), c.advice(i)+where)
}
