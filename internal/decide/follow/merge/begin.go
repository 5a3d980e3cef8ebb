package merge

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// begin makes the next group, where there is one.
func (c *pass) begin() {
	if held, _ := c.book.Holds(); held != "" || c.Past.Amnesia {
		return
	}
	if g, ok := c.next(); ok {
		c.make(g)
	}
}

// make has a new group written down.
func (c *pass) make(g fleet.MergeGroup) {
	g.Queue, g.Gates, g.State, g.At, g.Since = c.queue.Name, c.queue.Digest, fleet.GroupBuilding, c.at, c.at
	c.put(g)
	c.out.Wake = true
}

// next says what is tested next: what is left of a search for who fails; the target by
// itself, where it is in question; else the next ones that wait.
func (c *pass) next() (g fleet.MergeGroup, ok bool) {
	waiting := c.book.Waiting()
	if len(waiting) == 0 {
		return g, false
	}
	if broken := c.book.Broken(); broken != "" {
		i := c.book.Untried(broken)
		if i == nil {
			i = &waiting[0] // it is not built before the target has moved
		}
		return fleet.MergeGroup{Items: members(*i)}, true
	}
	if base := c.book.InQuestion(); base != "" {
		return fleet.MergeGroup{Base: base, Commit: base}, true
	}
	if items, suspects := c.search(waiting); len(items) > 0 {
		return fleet.MergeGroup{Items: items, Suspects: suspects}, true
	}
	most := c.book.Batch()
	oldest := waiting[0].Since
	for _, i := range waiting {
		if i.Since.Before(oldest) {
			oldest = i.Since
		}
	}
	if len(waiting) < most && !c.out.Passed(c.at, oldest, time.Duration(c.queue.Wait)) {
		return g, false
	}
	return fleet.MergeGroup{Items: members(waiting[:min(most, len(waiting))]...)}, true
}

func members(items ...fleet.MergeItem) (list []fleet.MergeMember) {
	for _, i := range items {
		list = append(list, fleet.MergeMember{ID: i.ID, Commit: i.Commit})
	}
	return list
}

// search goes on with a group that failed: its first half is tested by itself. When that has
// landed, what is left of the group is next; when it failed, half of that half. An item
// that is no more what it was ends the search: what is left waits like all others.
func (c *pass) search(waiting []fleet.MergeItem) (items, suspects []fleet.MergeMember) {
	last := c.book.Last()
	if last == nil || last.Gates != c.queue.Digest {
		return nil, nil
	}
	still := members(waiting...)
	stand := func(list []fleet.MergeMember) bool {
		return !slices.ContainsFunc(list, func(m fleet.MergeMember) bool { return !slices.Contains(still, m) })
	}
	switch {
	case last.State == fleet.GroupRed && len(last.Items) > 1 && stand(last.Items):
		return last.Items[:len(last.Items)/2], last.Items
	case last.State == fleet.GroupLanded && len(last.Suspects) > 0:
		rest := slices.DeleteFunc(slices.Clone(last.Suspects), func(m fleet.MergeMember) bool { return slices.Contains(last.Items, m) })
		if stand(rest) {
			return rest, nil
		}
	}
	return nil, nil
}

// blame fails the items that fail alone, on a target that passes without them; or that fails, too,
// and not in what they bring. It says whether there was one.
func (c *pass) blame() (found bool) {
	for _, i := range c.book.Waiting() {
		g := c.book.Alone(&i)
		if g == nil {
			continue
		}
		passes, fails := c.book.Target(g.Base)
		if passes || fails && c.book.Found(&i, g).Brings {
			c.fail(c.item(i.ID), g, passes)
			found = true
		}
	}
	return found
}
