package merge

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// review asks for the reviews that are missing, and gives an item back to its author that one has found blockers in.
// Which agent reads it, and when, follows as with all work.
func (c *pass) review() {
	for n := range c.book.Items {
		was := &c.book.Items[n]
		if c.queue.Review == "" || was.State != fleet.MergeWaiting || was.Reviewed == was.Commit {
			continue
		}
		switch w := c.book.Review(was); {
		case w == nil:
			c.askReview(was)
		case w.Review.Verdict == fleet.ReviewBlocked:
			i := c.item(was.ID)
			i.State, i.Since, i.Why = fleet.MergeFailed, c.at, fleet.Line(fleet.MergeBlocked+w.ID+" says "+ledger.CountFindings(w.Review.Findings)+": custos review show "+w.ID, 400)
		}
	}
	c.dropReviews()
}

// askReview asks for one more review, or, when its rounds are used up, a person.
func (c *pass) askReview(was *fleet.MergeItem) {
	if n := ledger.ReviewsBlocked(ledger.Reviews(c.Past.Records, *was)); n >= c.queue.Rounds {
		i := c.item(was.ID)
		i.State, i.Since = fleet.MergeHeld, c.at
		i.Why = fmt.Sprintf("%sin %s, and it was changed once more: a person reads it (custos review list), and says custos merge release %s", fleet.MergeBlocked, fleet.Counted(n, "round"), i.ID)
		return
	}
	if w, err := ledger.AskReview(c.Past, c.queue, *was, c.at); err == nil {
		c.out.Records.Work = append(c.out.Records.Work, w)
	}
}

// dropReviews closes the reviews that nobody waits for any more.
func (c *pass) dropReviews() {
	for _, w := range c.Past.Records.Work {
		if w.Review == nil || w.Over() {
			continue
		}
		i := c.book.Item(w.Review.Item)
		if i == nil || !i.Over() && i.Commit == w.Review.Commit && i.Reviewed != i.Commit && c.queue.Review != "" {
			continue // of another queue, or waited for
		}
		if done, err := ledger.CloseWork(w, "outdated", fmt.Sprintf("%s is %s, at %.12s", i.ID, i.State, i.Commit), fleet.ByCustos, c.at); err == nil {
			c.out.Records.Work = append(c.out.Records.Work, done)
		}
	}
}
