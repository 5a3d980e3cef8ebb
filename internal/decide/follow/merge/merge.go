package merge

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// The actions on merge groups, as decide calls them.
const (
	doBuild = "build-merge"
	doLand  = "land-merge"
	doClear = "clear-merge"
)

const (
	month       = 30 * 24 * time.Hour
	mostUnclear = 3 // runs of gates in a row that say nothing, before a person is asked
)

// Follow returns what becomes of the merge queues.
func Follow(p fleet.Pass) fleet.Follows {
	var out fleet.Follows
	for _, q := range p.Policy.Merges {
		c := &pass{Pass: p, queue: q, at: p.Snapshot.At, book: ledger.NewMergeBook(q, p.Past, p.Snapshot.At), items: map[string]*fleet.MergeItem{}}
		c.follow()
		out.Add(c.out)
	}
	for _, name := range ledger.GoneQueues(p.Policy.Merges, p.Past.Records) {
		q := ledger.QueueAsItWas(p.Past, name)
		c := &pass{Pass: p, queue: q, at: p.Snapshot.At, book: ledger.NewMergeBook(q, p.Past, p.Snapshot.At), items: map[string]*fleet.MergeItem{}}
		c.abandon()
		out.Add(c.out)
	}
	return out
}

// pass is one pass over one queue.
type pass struct {
	fleet.Pass
	queue fleet.MergeQueue
	at    fleet.Instant
	book  *ledger.MergeBook
	items map[string]*fleet.MergeItem // that this pass may change
	order []string                    // their IDs, as they were asked for
	out   fleet.Follows
}

// follow carries the open group on, else makes the next one.
func (c *pass) follow() {
	c.expire()
	c.inVain()
	if c.queue.Mode != fleet.MergeOwn {
		c.atForge()
	} else {
		c.pulls()
	}
	c.closings()
	c.review()
	c.resolve()
	for n := range c.book.Groups {
		c.cleared(c.book.Groups[n])
	}
	switch g := c.book.Open(); {
	case c.queue.Mode != fleet.MergeOwn:
		c.giveUp("mode " + string(c.queue.Mode) + ": Custos merges nothing here itself")
	case g != nil:
		c.carry(*g)
	case !c.blame():
		c.begin()
	}
	c.write()
}

// write has the items written down that this pass has changed.
func (c *pass) write() {
	for _, id := range c.order {
		if now := c.items[id]; !reflect.DeepEqual(*c.book.Item(id), *now) {
			c.out.Records.Merges = append(c.out.Records.Merges, *now)
		}
	}
}

// item is an item as this pass leaves it, to be changed in place; nil for none.
func (c *pass) item(id string) *fleet.MergeItem {
	if c.items[id] == nil {
		was := c.book.Item(id)
		if was == nil {
			return nil
		}
		i := *was
		c.items[id], c.order = &i, append(c.order, id)
	}
	return c.items[id]
}

// put has a group written down as it is now.
func (c *pass) put(g fleet.MergeGroup) {
	c.out.Records.MergeGroups = append(c.out.Records.MergeGroups, g)
}

// to moves a group into a state.
func (c *pass) to(g *fleet.MergeGroup, state fleet.MergeGroupState, why string) {
	if g.State != state {
		g.State, g.Since = state, c.at
	}
	g.Why = fleet.Line(why, 400)
}

// expire withdraws what nobody has touched for a month.
func (c *pass) expire() {
	for _, was := range c.book.Items {
		stuck := was.State == fleet.MergeConflict || was.State == fleet.MergeFailed
		if stuck && c.out.Passed(c.at, was.Since, month) {
			i := c.item(was.ID)
			i.State, i.Why, i.Since = fleet.MergeWithdrawn, "nobody has touched it for a month: "+was.Why, c.at
		}
	}
}

// inVain fails what waits for an item that was taken back: it would wait for ever.
func (c *pass) inVain() {
	for _, was := range c.book.Items {
		gone := slices.IndexFunc(was.Needs, func(id string) bool {
			n := c.book.Item(id)
			return n != nil && n.State == fleet.MergeWithdrawn
		})
		if was.State != fleet.MergeWaiting || gone < 0 {
			continue
		}
		i := c.item(was.ID)
		i.State, i.Since = fleet.MergeFailed, c.at
		i.Why = fmt.Sprintf("it needs %s, which was withdrawn", was.Needs[gone])
		c.tell(i, "in vain", fmt.Sprintf("%s (%s) is not merged: what it needs was withdrawn", i.ID, i.Source),
			i.Why+fmt.Sprintf("\n\nWithout it: custos merge add %s --queue %s\n", i.Source, c.queue.Name))
	}
}

// cleared notes that nothing is left of a group that is decided.
func (c *pass) cleared(g fleet.MergeGroup) {
	if !g.Decided() || g.Cleared == fleet.GroupClear {
		return
	}
	if g.Worktree == "" { // nothing was made of it
		g.Cleared = fleet.GroupClear
		c.put(g)
		return
	}
	if r := c.result(doClear, g.ID, g.Since); r != nil && (r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded) {
		g.Cleared = fleet.GroupClear
		c.put(g)
	}
}

// result is the newest result of an action on a group since a moment; nil when there is none.
func (c *pass) result(do, group string, since fleet.Instant) (newest *fleet.Result) {
	for n := range c.Past.Actions { // their order says nothing
		a := &c.Past.Actions[n]
		if t := a.Target.Merge; a.Do == do && t != nil && t.Group.ID == group && a.Result != nil && !a.PlannedAt.Before(since) {
			newest, since = a.Result, a.PlannedAt
		}
	}
	return newest
}

// busy says whether an action is under way on a group, or begins with this pass; or whether
// this pass has changed its run, which is not changed twice.
func (c *pass) busy(g *fleet.MergeGroup) bool {
	is := func(t *fleet.MergeTarget) bool { return t != nil && t.Group.ID == g.ID }
	return slices.ContainsFunc(c.Past.Actions, func(a fleet.ActionRecord) bool { return a.Open() && is(a.Target.Merge) }) ||
		slices.ContainsFunc(c.Plan.Actions, func(a fleet.Action) bool { return is(a.Target.Merge) }) ||
		ledger.HasGates(c.Plan.Runs, g)
}

// carry carries the open group on.
func (c *pass) carry(was fleet.MergeGroup) {
	g := was
	g.Items, g.Suspects = slices.Clone(was.Items), slices.Clone(was.Suspects)
	why := c.book.Outdated(&g)
	switch {
	case g.State == fleet.GroupGreen && c.hasLanded(&g): // whatever became of its items meanwhile
		c.landed(&g)
	case why != "" && !c.busy(&g):
		c.drop(&g, why)
	case g.State == fleet.GroupBuilding:
		c.built(&g)
	case g.State == fleet.GroupTesting:
		c.tested(&g)
	case g.State == fleet.GroupGreen:
		c.refused(&g)
	}
	if !reflect.DeepEqual(was, g) {
		c.put(g)
		c.out.Wake = true
	}
}

// drop gives a group up; its items wait again. What runs of it is ended, and what may have been
// made of it is to be cleared, though no result says so: Custos may have stopped in the middle.
func (c *pass) drop(g *fleet.MergeGroup, why string) {
	c.to(g, fleet.GroupDropped, why)
	if g.Worktree == "" && c.result(doBuild, g.ID, g.At) != nil {
		g.Worktree = path.Join(c.queue.Dir, g.ID+"-"+strconv.Itoa(g.Runs+1))
	}
	c.out.Runs = append(c.out.Runs, ledger.EndGates(c.Past, g, why, c.at)...)
}

// tell writes a mail about an item to its author, or to people where that is one. Of an author that is gone
// the people, or who stands above it, hear as of any mail that comes back.
func (c *pass) tell(i *fleet.MergeItem, key, subject, body string) {
	to := fleet.Overseer
	if i.Agent != "" {
		to = i.Agent
	}
	c.out.Tell(ledger.MergeNews(i, key, to, subject, body, c.at))
}
