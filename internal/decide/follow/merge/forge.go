package merge

import (
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// mergesWithin is how long a forge that has taken an item may take until it is asked again.
const mergesWithin = 30 * time.Minute

// atForge goes on from how the pull requests of the items are seen, in a queue whose target the forge moves, or a person there.
func (c *pass) atForge() {
	if len(c.book.Items) == 0 {
		return
	}
	t := ledger.NewTrackers(c.Past, c.Snapshot)
	for n := range c.book.Items {
		i := c.item(c.book.Items[n].ID)
		if i.Over() {
			continue // it was withdrawn in this pass
		}
		s := ledger.SeeAtForge(t, c.queue, *i)
		*i = s.Now
		switch {
		case s.Merged:
			c.mergedThere(i)
		case s.Closed != "":
			c.unwanted(i, s.Closed)
		case i.State != fleet.MergeWaiting:
		case s.Stuck.State != "":
			c.leave(i, s.Stuck)
		case i.Waits == "":
			c.asked(i, s.Pull)
		}
	}
}

// mergedThere notes that the forge has merged an item, as the commit that it told, where Custos asked it to.
func (c *pass) mergedThere(i *fleet.MergeItem) {
	commit := ""
	if r := ledger.AskedToMerge(c.Past, c.book.Item(i.ID)); r != nil && r.Merge != nil {
		commit = r.Merge.Commit
	}
	i.Waits, i.Unseen = "", false
	c.merged(i, commit)
	if was := c.book.Item(i.ID).Commit; was != i.Commit {
		i.Why = fmt.Sprintf("it was merged at %.12s, where its branch stood then, and not at %.12s", i.Commit, was)
	}
}

// asked says of an item that its forge is to merge how far that has come: one that it has taken waits for it, and of one that it
// has not it is said why.
func (c *pass) asked(i *fleet.MergeItem, pull string) {
	i.Why = ""
	switch r := ledger.AskedToMerge(c.Past, i); {
	case r != nil && (r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded) && !c.out.Passed(c.at, r.Ended, mergesWithin):
		i.Waits = "its forge was asked to merge " + pull
		if r.Merge == nil || r.Merge.Commit == "" {
			i.Waits = "its forge has " + pull + " in its own queue"
		}
	case r != nil && r.Status != fleet.ResultDone:
		i.Why = fleet.Line(r.Why, 400)
	}
	for _, s := range c.Plan.Skipped {
		if s.Action.Do == ledger.AskForge && s.Action.For.Subject.Name == i.ID {
			i.Why = fleet.Line(s.Why, 400)
		}
	}
}
