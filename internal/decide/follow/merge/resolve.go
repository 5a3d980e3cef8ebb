package merge

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// resolve has other agents bring in what is stuck, and tries an item again once they have. Which agent does it, and when,
// follows as with all work.
func (c *pass) resolve() {
	for n := range c.book.Items {
		was := &c.book.Items[n]
		is, in := c.book.ToResolve(was, c.Pass)
		if in > 0 {
			c.out.Due(c.at, c.at.Add(in))
		}
		if !is {
			continue
		}
		if w, err := ledger.AskResolve(c.queue, *was, c.at); err == nil {
			c.out.Records.Work = append(c.out.Records.Work, w)
		}
	}
	for _, w := range c.Past.Records.Work {
		r := w.Resolves
		if r == nil || r.Queue != c.queue.Name {
			continue
		}
		was := c.book.Item(r.Item)
		switch ledger.Resolving(was, &w) {
		case ledger.ResolvedTryAgain:
			i := c.item(r.Item)
			*i = ledger.Repin(*i, i.Commit, c.at)
		case ledger.ResolvedElsewhere:
			if done, err := ledger.CloseWork(w, "outdated", fmt.Sprintf("%s is %s, at %.12s", was.ID, was.State, was.Commit), fleet.ByCustos, c.at); err == nil {
				c.out.Records.Work = append(c.out.Records.Work, done)
			}
		}
	}
}
