package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
)

// mqReports is what the reports of gates have in a world.
type mqReports int

const (
	mqNoReports   mqReports = iota
	mqAllReported           // each test that failed
	mqFirstOnly             // the first one: then no other is run
	mqMasked                // what keeps the tree from being built, where something does: no test is run then
	mqBroken                // sometimes nothing that can be read, or a part
)

// reports has the gates of a queue write reports.
func (c *mqCustos) reports(are mqReports) {
	c.w.reports = are
	for n := range c.queue.Gates {
		c.queue.Gates[n].Report = "report.xml"
	}
}

// report is what a gate that failed on a tree writes: each change has a test of its own.
func (w *mqWorld) report(on *mqCommit) fleet.TestReport {
	if w.reports == mqNoReports {
		return fleet.TestReport{}
	}
	var builds, names []string
	for n := range on.breaks {
		builds = append(builds, fmt.Sprintf("build %d", n))
	}
	for c := on; c != nil; c = c.parent {
		if w.remote.changes[c.brings].culprit {
			names = append(names, "of "+c.brings)
		}
	}
	if w.luck(w.flaky) || len(builds)+len(names) == 0 {
		names = append(names, fmt.Sprintf("chance %d", w.draw(20)))
	}
	slices.Sort(names)
	return w.written(builds, names)
}

func (w *mqWorld) written(builds, names []string) fleet.TestReport {
	all := append(slices.Clone(builds), names...)
	switch {
	case w.reports == mqFirstOnly:
		all = all[:1]
	case w.reports == mqMasked && len(builds) > 0:
		all = builds
	case w.reports == mqBroken && w.draw(3) == 0:
		return fleet.TestReport{Failed: all[:w.draw(1+len(all))], Why: "it ends in its middle"}
	}
	return fleet.TestReport{Ran: 100, Failed: all}
}

// Where gates name what fails, an item that brings failures of its own to a target that fails has
// failed, too; no other has, and all the rest goes on as it does without names.
func TestMergeRedTargetWithReports(t *testing.T) {
	w, c := oneMQ(t, "test")
	c.reports(mqAllReported)
	w.remote.push("broken", mqChange{breaks: true})
	for n := range 6 {
		c.must(c.addItem(fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n), mqChange{culprit: n == 3}))
	}
	w.run(w.now + 2*24*time.Hour)
	for n := range 6 {
		state := fleet.MergeWaiting
		if n == 3 {
			state = fleet.MergeFailed
		}
		c.wants(fmt.Sprintf("mq%d", n+1), state)
	}
	if why := c.item("mq4").Why; !strings.Contains(why, "in more than on main without it") || !strings.HasSuffix(why, ": on main itself fails build 0; what fails besides: of c3") {
		t.Errorf("%q", why)
	}
	if why := c.why("mq2"); !strings.HasSuffix(why, ": build 0") {
		t.Errorf("%q", why)
	}
	c.must(c.addItem("fix", "f1", mqChange{mends: true}))
	w.run(w.now + 2*24*time.Hour)
	for _, id := range []string{"mq1", "mq2", "mq3", "mq5", "mq6", "mq7"} {
		c.wants(id, fleet.MergeMerged)
	}
	c.checkEnd()
}

// TestMergeBlamesNobodyForTheTarget: whatever fails on the target, whatever hides what else would,
// and whatever reports leave out, no item is blamed that brings no failure (checkItem sees to that).
func TestMergeBlamesNobodyForTheTarget(t *testing.T) {
	set := mqRules(t)
	fleettest.Checks(t, fleettest.Histories(t)/mqHistoriesShare/2)
	blamed := 0
	rapid.Check(t, func(t *rapid.T) {
		h := &mqHistory{t: t}
		h.mqWorld = newMQWorld(set, func(format string, args ...any) { t.Helper(); t.Fatalf(format, args...) }, h.draw)
		c := h.add("one", 1+h.draw(4), "test")
		c.reports(mqReports(h.draw(5)))
		c.queue.Wait = 0
		breaks := 1 + h.draw(2)
		for n := range breaks {
			h.remote.push(fmt.Sprintf("broken%d", n), mqChange{breaks: true})
		}
		hidden := h.draw(2) == 0
		if hidden {
			h.remote.push("hidden", mqChange{culprit: true})
		}
		for n := range rapid.IntRange(1, 8).Draw(t, "items") {
			kind := h.draw(4)
			c.must(c.addItem(fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n), mqChange{culprit: kind == 0, mends: kind == 1}))
			h.run(h.now + time.Duration(h.draw(6))*time.Hour)
		}
		h.run(h.now + 2*24*time.Hour)
		for _, i := range c.book.past.Records.Merges {
			if i.State == fleet.MergeFailed && strings.Contains(i.Why, "in more than on") {
				blamed++
			}
		}
		if hidden {
			return // nothing mends that
		}
		for h.remote.tip.breaks > 0 {
			h.commits++
			h.remote.push(fmt.Sprintf("mended%d", h.commits), mqChange{mends: true})
		}
		h.run(h.now + 4*24*time.Hour)
		c.checkEnd()
	})
	t.Logf("%d items were blamed on a target that fails", blamed)
}

// why is what is said of an item.
func (c *mqCustos) why(id string) string {
	b := ledger.NewMergeBook(*c.queue, c.book.past, c.w.at())
	return b.Why(b.Item(id))
}
