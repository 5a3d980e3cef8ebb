package loop_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// land moves the target, as a Custos does it. It goes nowhere but where the gates have passed, as
// that Custos has it on record; and brings nothing twice.
func (c *mqCustos) land(to *mqCommit, t *fleet.MergeTarget) {
	w := c.w
	if !c.green[to.treeID()] {
		w.fail("%s lands %s (%s), whose tree has no green run on record", c.name, to.id, t.Group.ID)
	}
	if !to.passes() {
		w.fail("%s lands %s (%s), on which the gates fail", c.name, to.id, t.Group.ID)
	}
	for n, m := range t.Group.Items {
		for _, need := range c.item(m.ID).Needs {
			if !slices.ContainsFunc(t.Group.Items[:n], func(o fleet.MergeMember) bool { return o.ID == need }) && c.item(need).State != fleet.MergeMerged {
				w.fail("%s lands %s without %s, which it needs", c.name, m.ID, need)
			}
		}
	}
	for at := to; at != w.remote.tip; at = at.parent {
		if at == nil {
			w.fail("%s lands %s, which is not on top of the target", c.name, to.id)
		}
		if w.remote.tip.has(at.brings) {
			w.fail("%s lands %s a second time", c.name, at.brings)
		}
		at.by = c.name
	}
	w.remote.tip = to
}

func (c *mqCustos) hold() fleet.MergeHold {
	for _, h := range c.book.past.Records.MergeHolds {
		if h.Queue == c.queue.Name {
			return h
		}
	}
	return fleet.MergeHold{}
}

// checkPlan looks at what a pass means to do, before it is written down.
func (c *mqCustos) checkPlan(p fleet.Pass, idle bool) {
	if c.quiet && !idle {
		text, _ := json.Marshal(p.Plan)
		c.w.fail("%s: nothing has happened, and at %s there is a plan: %s", c.name, c.w.now, text)
	}
	for _, a := range p.Plan.Actions {
		if t := a.Target.Merge; t != nil {
			c.checkAction(a, t)
		}
	}
}

func (c *mqCustos) checkAction(a fleet.Action, t *fleet.MergeTarget) {
	for _, o := range c.book.past.Actions {
		if o.Open() && o.Target.Merge != nil && o.Target.Merge.Group.ID == t.Group.ID {
			c.w.fail("%s: %s is planned on %s, on which %s is under way", c.name, a.Do, t.Group.ID, o.Do)
		}
	}
	if a.Do == "clear-merge" {
		return
	}
	if h := c.hold(); h.Held || c.policy.Frozen != "" {
		c.w.fail("%s: %s is planned on %s, and it is held (%s) or frozen (%s)", c.name, a.Do, t.Group.ID, h.Why, c.policy.Frozen)
	}
	for _, m := range t.Group.Items {
		i := ledger.Merge(c.book.past.Records, m.ID)
		if i == nil || i.State != fleet.MergeWaiting || i.Commit != m.Commit {
			c.w.fail("%s: %s is planned on %s, with %v, which is %v", c.name, a.Do, t.Group.ID, m, i)
		}
	}
}

// checkBook looks at what was written down.
func (c *mqCustos) checkBook(p fleet.Pass) {
	open := 0
	for _, g := range c.book.past.Records.MergeGroups {
		if !g.Decided() {
			open++
		}
	}
	if open > 1 {
		c.w.fail("%s: %d groups are undecided", c.name, open)
	}
	if p.Plan.Records.IsZero() {
		return
	}
	for _, i := range p.Plan.Records.Merges {
		c.checkItem(i)
	}
	c.checkWhy()
	for _, g := range p.Plan.Records.MergeGroups {
		if g.Revision == 0 && len(g.Items) > 0 {
			c.letPass(g)
		}
	}
}

// checkItem looks at what became of an item.
func (c *mqCustos) checkItem(i fleet.MergeItem) {
	is := c.w.remote.changes[i.Commit]
	switch {
	case i.State == fleet.MergeMerged && !c.w.remote.tip.has(i.Commit):
		c.w.fail("%s: %s is merged, and not in the target", c.name, i.ID)
	case i.State == fleet.MergeFailed && !c.w.blames && !is.culprit && !is.breaks && !is.empty && !mqGone(i):
		c.w.fail("%s: %s is blamed, and innocent: %s", c.name, i.ID, i.Why)
	case i.State == fleet.MergeConflict && len(is.conflicts) == 0:
		c.w.fail("%s: %s conflicts with nothing: %s", c.name, i.ID, i.Why)
	}
}

// mqGone says whether an item has failed because there was no branch any more, or what it needs was
// taken back: that blames nobody.
func mqGone(i fleet.MergeItem) bool {
	return i.State == fleet.MergeFailed && (strings.HasSuffix(i.Why, "is gone") || strings.HasSuffix(i.Why, "which was withdrawn"))
}

// checkWhy: of each item that is not over it can be told why.
func (c *mqCustos) checkWhy() {
	b := ledger.NewMergeBook(*c.queue, c.book.past, c.w.at())
	if len(b.Items) > 20 && c.w.passes%16 != 0 { // it takes long, of many
		return
	}
	for n := range b.Items {
		if b.Why(&b.Items[n]) == "" {
			c.w.fail("%s: nothing is said of %s, which is %s", c.name, b.Items[n].ID, b.Items[n].State)
		}
	}
}

// letPass: an item waits for no group of items that were added more than five times Ageing after it:
// by then it has the first priority, as they had at most.
// How many groups of newer ones went ahead is counted.
func (c *mqCustos) letPass(g fleet.MergeGroup) {
	var newest fleet.MergeItem
	in := map[string]bool{}
	for _, m := range g.Items {
		in[m.ID] = true
		if i := c.item(m.ID); newest.ID == "" || newest.At.Before(i.At) {
			newest = *i
		}
	}
	b := ledger.NewMergeBook(*c.queue, c.book.past, c.w.at())
	if b.Broken() != "" { // whoever may mend the target goes ahead
		return
	}
	for _, i := range b.Waiting() {
		if in[i.ID] || !i.Since.Before(newest.At) || len(i.Needs) > 0 || len(newest.Needs) > 0 {
			continue
		}
		c.waits[i.ID]++
		c.longest = max(c.longest, c.waits[i.ID])
		if ahead := 5 * time.Duration(c.queue.Ageing); newest.At.Since(i.At) > ahead {
			c.w.fail("%s: %s waits since %s, and %s goes ahead, of %s", c.name, i.ID, i.At.Wall, newest.ID, newest.At.Wall)
		}
	}
}

// checkEnd: when all is quiet each item has ended as it had to, and nothing is left on disk.
func (c *mqCustos) checkEnd() {
	for _, i := range c.book.past.Records.Merges {
		is := c.w.remote.changes[i.Commit]
		wants := fleet.MergeMerged
		switch {
		case len(is.conflicts) > 0 && i.State == fleet.MergeConflict:
			wants = fleet.MergeConflict
		case is.culprit || is.empty || mqGone(i) || c.w.blames && i.State == fleet.MergeFailed:
			wants = fleet.MergeFailed
		}
		if i.State == fleet.MergeHeld || i.State == fleet.MergeWithdrawn || i.State == wants || i.State == fleet.MergeWaiting && c.needsInVain(i) {
			continue
		}
		b := ledger.NewMergeBook(*c.queue, c.book.past, c.w.at())
		c.w.fail("%s: at the end (%s) %s (%s) is %s, and should be %s: %s", c.name, c.w.now, i.ID, i.Commit, i.State, wants, b.Why(&i))
	}
	if len(c.made) > 0 || len(c.refs) > 0 {
		c.w.fail("%s: at the end there are left: %v %v", c.name, c.made, c.refs)
	}
}

// needsInVain says whether an item waits for one that will never be merged.
func (c *mqCustos) needsInVain(i fleet.MergeItem) bool {
	return slices.ContainsFunc(i.Needs, func(id string) bool {
		n := ledger.Merge(c.book.past.Records, id)
		return n == nil || n.State != fleet.MergeMerged && n.State != fleet.MergeWaiting || n.State == fleet.MergeWaiting && c.needsInVain(*n)
	})
}
