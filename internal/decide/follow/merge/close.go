package merge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// stillOpen is how long after its merge the author of an item is told what is not closed yet.
const stillOpen = 15 * time.Minute

// closings takes note of what merged items name elsewhere: what is closed, and what is not and why.
func (c *pass) closings() {
	list := ledger.MergeClosings(c.queue, c.Past, c.Snapshot)
	for n := range list {
		if n == 0 || list[n].Item.ID != list[n-1].Item.ID {
			c.closing(list[n].Item.ID, list)
		}
	}
}

func (c *pass) closing(id string, list []ledger.MergeClosing) {
	i, open := c.item(id), 0
	for n := range list {
		x := &list[n]
		switch {
		case x.Item.ID != id:
		case x.Settled:
			*i = ledger.SettleMerge(*i, x.Ref, x.Why)
		default:
			open++
		}
	}
	i.Why = fleet.Line(c.openWords(i, list), 400)
	left := slices.ContainsFunc(i.Settled, func(s fleet.MergeElsewhere) bool { return s.Left != "" })
	if i.OpenTold || i.Why == "" || !(left && open == 0) && !c.out.Passed(c.at, i.Since, stillOpen) {
		return
	}
	i.OpenTold = true
	c.tell(i, "open", fmt.Sprintf("%s (%s) is merged, and not all that it names is closed", i.ID, i.Source), i.Why+"\n")
}

// openWords says what an item names that is open though it is merged; "" when nothing is.
func (c *pass) openWords(i *fleet.MergeItem, list []ledger.MergeClosing) string {
	var words []string
	for _, s := range i.Settled {
		if s.Left != "" {
			words = append(words, fmt.Sprintf("%s is left open: %s", s.Ref, s.Left))
		}
	}
	for n := range list {
		if x := &list[n]; x.Item.ID == i.ID && !x.Settled {
			if why := c.notClosed(x); why != "" {
				words = append(words, fmt.Sprintf("%s is not closed yet: %s", x.Ref, why))
			}
		}
	}
	return strings.Join(words, "; ")
}

// notClosed says why something is not closed yet: by what its tracker shows, else by the guard that
// holds it back; "" while that is being done.
func (c *pass) notClosed(x *ledger.MergeClosing) string {
	for _, s := range c.Plan.Skipped {
		if s.Action.For.Subject.Name == x.Item.ID && s.Action.Subject.Name == string(x.Ref) {
			return s.Why
		}
	}
	return x.Why
}
