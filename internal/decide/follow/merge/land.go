package merge

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// hasLanded says whether the target was read, and stands at the commit of a group, or beyond.
func (c *pass) hasLanded(g *fleet.MergeGroup) bool {
	r := c.result(doLand, g.ID, g.Since)
	return r != nil && (r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded)
}

// landed takes note of it: what is in the target is merged, whatever was said of it meanwhile. A
// branch that is at another commit now goes on with that.
func (c *pass) landed(g *fleet.MergeGroup) {
	c.to(g, fleet.GroupLanded, "")
	for _, m := range g.Items {
		if i := c.item(m.ID); i != nil && i.Commit == m.Commit {
			c.merged(i, g.Commit, g.Notes...)
		}
	}
}

// refused goes on from why a group has not landed.
func (c *pass) refused(g *fleet.MergeGroup) {
	r := c.result(doLand, g.ID, g.Since)
	switch {
	case r == nil:
	case r.Merge != nil && r.Merge.Declined != "":
		c.hold(g, c.queue.Target+" was not allowed to move: "+r.Merge.Declined)
	case r.Merge != nil && (len(r.Merge.Left) > 0 || r.Merge.Base != ""):
		for _, l := range r.Merge.Left {
			if i := c.item(l.ID); i != nil && i.State == fleet.MergeWaiting {
				c.leave(i, l)
			}
		}
		c.drop(g, r.Why)
	default:
		g.Why = fleet.Line(r.Why, 400)
	}
}

// merged notes that an item is in the target, closes what it was for, and tells its author, with what
// is to be said of the gates that passed.
func (c *pass) merged(i *fleet.MergeItem, commit string, notes ...string) {
	known := fleet.Records{Work: slices.Clone(c.Past.Records.Work)}
	now, work := ledger.MergeLanded(known.And(c.out.Records), *i, commit, c.at)
	*i = now
	c.out.Records.Work = append(c.out.Records.Work, work...)
	text := fmt.Sprintf("%s moved to %.12s.\n", c.queue.Target, commit)
	if commit == "" {
		text = "It was merged into " + c.queue.Target + " by its forge.\n"
	}
	for _, w := range work {
		text += "Closed: " + w.ID + " (" + w.Title + ")\n"
	}
	text += remarks(notes)
	c.supersede(i)
	c.tell(i, "merged", fmt.Sprintf("%s (%s) is merged", i.ID, i.Source), text)
}

// supersede takes back what failed, or conflicts, and was for nothing but what is merged with another branch now: whoever
// went on from there has handed in its own.
func (c *pass) supersede(by *fleet.MergeItem) {
	for _, was := range c.book.Items {
		other := func(r fleet.Ref) bool { return !slices.Contains(by.Work, r) }
		stuck := was.State == fleet.MergeConflict || was.State == fleet.MergeFailed
		if !stuck || was.ID == by.ID || len(was.Work) == 0 || slices.ContainsFunc(was.Work, other) {
			continue
		}
		i := c.item(was.ID)
		i.State, i.Why, i.Since = fleet.MergeWithdrawn, "what it was for was merged with "+by.ID, c.at
	}
}

// fail notes that the gates fail with an item alone, and not without it, or not so.
func (c *pass) fail(i *fleet.MergeItem, g *fleet.MergeGroup, passes bool) {
	found := c.book.Found(i, g)
	i.State, i.Since = fleet.MergeFailed, c.at
	why := fmt.Sprintf("%s on %s alone, and the gates pass on %s without it (%s)", g.Why, i.ID, c.queue.Target, g.ID)
	if passes {
		found.Own, found.Shared = append(found.Own, found.Shared...), nil // what failed there has passed, too
	} else {
		why = fmt.Sprintf("%s on %s alone, in more than on %s without it (%s)", g.Why, i.ID, c.queue.Target, g.ID)
	}
	if words := found.Words(c.queue.Target); words != "" {
		why += ": " + words
	}
	i.Why = fleet.Line(why, 400)
	where := tests(found, c.queue.Target) + remarks(g.Notes)
	if g.Run != "" {
		where += "\ncustos formula show " + g.Run + " says where its output is.\n"
	}
	c.tell(i, "failed", fmt.Sprintf("%s (%s) is not merged: its gates fail", i.ID, i.Source), c.advice(i)+where)
}

// mailedTests is how many tests a mail names.
const mailedTests = 20

// tests names the tests that failed with an item, and apart from them those that fail on the target
// without it. It is "" where no gate has named any.
func tests(found ledger.MergeFound, target string) string {
	text := ""
	if len(found.Own) > 0 {
		text += "\nTests that fail with it:\n" + testLines(found.Own, found.More, found.Runs)
	}
	if len(found.Shared) > 0 {
		text += "\nThese fail on " + target + " without it, too, and are none of its faults:\n" + testLines(found.Shared, 0, 0)
	}
	return text
}

// testLines are the first of some tests, each with the gate it failed in; and in how many of the runs,
// where that was not all.
func testLines(list []fleet.MergeTest, more, runs int) (text string) {
	for _, t := range list[:min(len(list), mailedTests)] {
		text += "- " + t.Gate + ": " + t.Name
		if t.Reds > 0 && t.Reds < runs {
			text += fmt.Sprintf(" (in %d of %d runs)", t.Reds, runs)
		}
		text += "\n"
	}
	if more += max(0, len(list)-mailedTests); more > 0 {
		text += fmt.Sprintf("- and %d more\n", more)
	}
	return text
}

// remarks are what is to be said of the reports of gates; "" for nothing.
func remarks(notes []string) (text string) {
	for _, n := range notes {
		text += "\nGate " + n + "\n"
	}
	return text
}
