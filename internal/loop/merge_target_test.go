package loop_test

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// A target that fails by itself blames nobody: the queue waits, says so, and goes on with the
// item that mends it.
func TestMergeRedTarget(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.remote.push("broken", mqChange{breaks: true})
	for n := range 6 {
		c.must(c.addItem(fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n), mqChange{culprit: n == 3}))
	}
	w.run(w.now + 2*24*time.Hour)
	for n := range 6 {
		c.wants(fmt.Sprintf("mq%d", n+1), fleet.MergeWaiting)
	}
	runs := c.gateRuns
	c.must(c.addItem("fix", "f1", mqChange{mends: true}))
	w.run(w.now + 2*24*time.Hour)
	c.wants("mq4", fleet.MergeFailed)
	for _, id := range []string{"mq1", "mq2", "mq3", "mq5", "mq6", "mq7"} {
		c.wants(id, fleet.MergeMerged)
	}
	c.checkEnd()
	t.Logf("%d runs until it waited, %d more until all was merged", runs, c.gateRuns-runs)
}

// The same, and a person mends the target.
func TestMergeRedTargetMendedByAPerson(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.remote.push("broken", mqChange{breaks: true})
	for n := range 6 {
		c.must(c.addItem(fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n), mqChange{culprit: n == 3}))
	}
	w.run(w.now + 12*time.Hour)
	w.remote.push("mended", mqChange{mends: true})
	w.run(w.now + 2*24*time.Hour)
	c.checkEnd()
	c.wants("mq6", fleet.MergeMerged)
}

// Custos is killed at each boundary of a day, one after the other: nothing is lost, doubled or half.
func TestMergeKilledAtEachBoundary(t *testing.T) {
	for n := 1; ; n++ {
		w, c := oneMQ(t, "test")
		w.crashIn = n
		for i := range 6 {
			c.must(c.addItem(fmt.Sprintf("b%d", i), fmt.Sprintf("c%d", i), mqChange{culprit: i == 2}))
		}
		w.run(w.now + 2*24*time.Hour)
		c.checkEnd()
		if w.crashIn > 0 {
			t.Logf("%d boundaries", n-1)
			return
		}
	}
}

// What the gates need is down for hours, and the target does not move: they fail on it too, and nobody is blamed for that.
// When it is back, all goes on by itself.
func TestMergeOutage(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.flaky = 1000
	for n := range 3 {
		c.must(c.addItem(fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n), mqChange{culprit: n == 1}))
	}
	w.run(w.now + 24*time.Hour)
	for _, id := range []string{"mq1", "mq2", "mq3"} {
		c.wants(id, fleet.MergeWaiting)
	}
	during := c.gateRuns
	w.flaky = 0
	w.run(w.now + 24*time.Hour)
	c.wants("mq1", fleet.MergeMerged)
	c.wants("mq2", fleet.MergeFailed)
	c.wants("mq3", fleet.MergeMerged)
	t.Logf("%d runs within a day of it, %d after that", during, c.gateRuns-during)
}
