package merge

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// built goes on from what the action that builds a group has learned.
func (c *pass) built(g *fleet.MergeGroup) {
	r := c.result(doBuild, g.ID, g.Since)
	if r == nil {
		return
	}
	if r.Merge == nil || r.Status != fleet.ResultDone {
		g.Why = fleet.Line(r.Why, 400)
		return
	}
	o := r.Merge
	c.left(g, o.Left)
	g.Base, g.Commit, g.Tree, g.Worktree = o.Base, o.Commit, o.Tree, o.Worktree
	if len(o.Settled) > 0 { // a commit that is tested again is not merged again
		g.Settled = o.Settled
	}
	if rest := c.whole(g.Items); len(rest) < len(g.Items) {
		c.drop(g, "what others of it need is not in it")
		if len(rest) > 0 {
			c.make(fleet.MergeGroup{Items: rest, Suspects: g.Suspects})
		}
		return
	}
	if len(g.Items) == 0 && len(o.Left) > 0 {
		c.drop(g, "none of its items can be merged")
		return
	}
	reds, green := c.book.Verdict(g.Tree, c.since(g))
	switch {
	case green != "":
		g.Same = green
		c.to(g, fleet.GroupGreen, "its tree has passed already, as "+green)
	case len(g.Items) > 0 && reds >= c.book.Confirms(len(g.Items)): // the target is asked for what is so now
		c.to(g, fleet.GroupRed, "its tree has failed already")
	default:
		c.begins(g)
	}
}

// whole leaves out what needs an item that is neither before it nor in the target.
func (c *pass) whole(list []fleet.MergeMember) (out []fleet.MergeMember) {
	in := map[string]bool{}
	lacks := func(id string) bool {
		n := c.item(id)
		return !in[id] && (n == nil || n.State != fleet.MergeMerged)
	}
	for _, m := range list {
		if i := c.item(m.ID); i == nil || !slices.ContainsFunc(i.Needs, lacks) {
			in[m.ID], out = true, append(out, m)
		}
	}
	return out
}

// since is when all items of a group were what they are: one that a person released, or that was
// added once more, is tested anew, though its tree may be known.
func (c *pass) since(g *fleet.MergeGroup) (newest fleet.Instant) {
	if newest = c.book.Outage(g.Base); len(g.Items) == 0 {
		return fleet.Instant{}
	}
	for _, m := range g.Items {
		if i := c.item(m.ID); i != nil && (newest.IsZero() || newest.Before(i.Since)) {
			newest = i.Since
		}
	}
	return newest
}

// left notes what became of the items that are not in what was built.
func (c *pass) left(g *fleet.MergeGroup, left []fleet.MergeLeft) {
	for _, l := range left {
		g.Items = slices.DeleteFunc(g.Items, func(m fleet.MergeMember) bool { return m.ID == l.ID })
		i := c.item(l.ID)
		if i == nil || i.State != fleet.MergeWaiting {
			continue
		}
		c.leave(i, l)
	}
}

func (c *pass) leave(i *fleet.MergeItem, l fleet.MergeLeft) {
	switch l.State {
	case fleet.MergeWaiting:
		if l.Commit != "" && l.Commit != i.Commit {
			*i = ledger.Repin(*i, l.Commit, c.at)
		}
		i.Why = fleet.Line(l.Why, 400)
	case fleet.MergeMerged:
		c.merged(i, l.Commit)
	default:
		i.State, i.Why, i.Files, i.Since = l.State, fleet.Line(l.Why, 400), l.Files, c.at
		c.tell(i, string(l.State), fmt.Sprintf("%s (%s) is not merged: %s", i.ID, i.Source, l.State), c.advice(i))
	}
}

// advice says to the author of an item that is not merged what to do.
func (c *pass) advice(i *fleet.MergeItem) string {
	text := i.Why + "\n"
	if len(i.Files) > 0 {
		text += "\nFiles: " + strings.Join(i.Files, ", ") + "\n"
	}
	return text + fmt.Sprintf("\nBring %s up to %s, commit, and say: custos merge add %s --queue %s\n", i.Source, c.queue.Target, i.Source, c.queue.Name)
}

// begins begins a run of the gates on the tree of a group.
func (c *pass) begins(g *fleet.MergeGroup) {
	made, err := ledger.TakeGates(c.Past, c.queue, g, c.at)
	if err != nil {
		g.Why = fleet.Line(err.Error(), 400)
		return
	}
	c.out.Runs = append(c.out.Runs, made)
	g.Run, g.Runs = made.ID, g.Runs+1
	c.to(g, fleet.GroupTesting, "")
}

// tested goes on from the end of a run of the gates.
func (c *pass) tested(g *fleet.MergeGroup) {
	end := ledger.GatesEnd(c.Past, g)
	if end.Over {
		ledger.NoteTests(g, end)
	}
	switch {
	case !end.Over:
	case end.Passed:
		c.passed(g)
	case end.By != "":
		c.hold(g, "the gates of "+g.ID+" were cancelled by "+end.By)
	case len(end.Red) == 0:
		c.unclear(g, end.Unclear)
	default:
		c.failed(g, end.Red)
	}
}

func (c *pass) passed(g *fleet.MergeGroup) {
	if g.Unclear = 0; g.Reds > 0 {
		g.Flaky = withNew(g.Flaky, g.Failed)
	}
	c.to(g, fleet.GroupGreen, "")
	if len(g.Items) == 0 { // the target itself: it stands there already
		c.to(g, fleet.GroupLanded, "the gates pass on "+c.queue.Target+" itself")
	}
}

func withNew(list, more []string) []string {
	out := append(slices.Clone(list), more...)
	slices.Sort(out)
	return slices.Compact(out)
}

// failed believes a red run when it was confirmed as often as it takes; until then the same
// tree is tested again, in a worktree of its own.
func (c *pass) failed(g *fleet.MergeGroup, red []string) {
	g.Reds, g.Failed, g.Unclear = g.Reds+1, red, 0
	why := strings.Join(red, ", ") + " failed"
	reds, _ := c.book.Verdict(g.Tree, c.since(g))
	if max(g.Reds, reds+1) >= c.book.Confirms(len(g.Items)) {
		c.to(g, fleet.GroupRed, why)
		return
	}
	c.to(g, fleet.GroupBuilding, why+", and the same tree is tested again")
	g.Since = c.at
}

// unclear tries again what has said nothing, a few times: then a person is asked.
func (c *pass) unclear(g *fleet.MergeGroup, why string) {
	if g.Unclear++; g.Unclear >= mostUnclear {
		c.hold(g, "the gates cannot be run: "+why)
		return
	}
	c.to(g, fleet.GroupBuilding, why)
	g.Since = c.at
}

// hold holds the queue until a person releases it, and gives the group up.
func (c *pass) hold(g *fleet.MergeGroup, why string) {
	c.drop(g, why)
	if h, err := ledger.HoldQueue(c.Past.Records, c.queue.Name, why, fleet.ByCustos, c.at); err == nil {
		c.out.Records.MergeHolds = append(c.out.Records.MergeHolds, h)
	}
}
