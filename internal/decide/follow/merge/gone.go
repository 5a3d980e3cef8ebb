package merge

import (
	"reflect"

	"custos/internal/fleet"
)

// abandon ends what is under way in a queue that is not configured any more. Its items stay for a month, for
// it may come back; what has landed has landed.
func (c *pass) abandon() {
	why := "custos.toml has no [merge." + c.queue.Name + "] any more"
	for _, was := range c.book.Items {
		if c.out.Passed(c.at, was.Since, month) {
			i := c.item(was.ID)
			i.State, i.Why, i.Since = fleet.MergeWithdrawn, why+", and nobody has touched it for a month", c.at
		}
	}
	for _, g := range c.book.Groups {
		if g.Decided() && !g.Over() && c.out.Passed(c.at, g.Since, month) { // nobody can clear it, or its folder was taken away
			g.Cleared = fleet.GroupClear
			c.put(g)
			continue
		}
		c.cleared(g)
	}
	c.giveUp(why)
	c.write()
}

// giveUp ends the open group, whose target is moved by this queue no more. What has landed has landed.
func (c *pass) giveUp(why string) {
	if g := c.book.Open(); g != nil && !c.busy(g) {
		now := *g
		if now.State == fleet.GroupGreen && c.hasLanded(&now) {
			c.landed(&now)
		} else {
			c.drop(&now, why)
		}
		if !reflect.DeepEqual(*g, now) {
			c.put(now)
			c.out.Wake = true
		}
	}
}
