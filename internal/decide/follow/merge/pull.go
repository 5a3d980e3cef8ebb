package merge

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// pulls takes note of how the pull requests are seen that items name. One that was closed unmerged is not
// wanted any more, and neither is its branch.
func (c *pass) pulls() {
	named := func(i fleet.MergeItem) bool { // or waits for what another mode of the queue has waited for
		return i.Waits != "" || slices.ContainsFunc(i.Work, func(r fleet.Ref) bool { return r.Tracker() == fleet.TrackerPull })
	}
	if !slices.ContainsFunc(c.book.Items, named) {
		return
	}
	t := ledger.NewTrackers(c.Past, c.Snapshot)
	for _, was := range c.book.Items {
		if !named(was) {
			continue
		}
		i := c.item(was.ID)
		now, closed := ledger.SeePulls(t, *i)
		if *i = now; closed == "" || i.Over() {
			continue
		}
		c.unwanted(i, closed)
	}
}

// unwanted takes an item back whose pull request was closed unmerged.
func (c *pass) unwanted(i *fleet.MergeItem, why string) {
	i.State, i.Why, i.Since = fleet.MergeWithdrawn, why, c.at
	c.tell(i, "withdrawn", fmt.Sprintf("%s (%s) is not merged: its pull request was closed", i.ID, i.Source),
		why+fmt.Sprintf("\n\nIf it is to be merged all the same: custos merge add %s --queue %s\n", i.Source, c.queue.Name))
}
