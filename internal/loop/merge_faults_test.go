package loop_test

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// oneMQ is a world with one queue, of which no item waits for more.
func oneMQ(t *testing.T, gates ...string) (*mqWorld, *mqCustos) {
	t.Helper()
	w := seededMQ(t, 1)
	c := w.add("one", 4, gates...)
	c.queue.Wait = 0
	return w, c
}

func (c *mqCustos) must(err error) {
	if err != nil {
		c.w.fail("%v", err)
	}
}

// until goes on until something is so, a day at most.
func (c *mqCustos) until(what string, is func() bool) {
	for end := c.w.now + 24*time.Hour; !is(); {
		if c.w.now >= end {
			c.w.fail("it was never so: %s", what)
		}
		c.w.step(end)
	}
}

// group is the newest group.
func (c *mqCustos) group() fleet.MergeGroup {
	if all := c.book.past.Records.MergeGroups; len(all) > 0 {
		return all[len(all)-1]
	}
	return fleet.MergeGroup{}
}

func (c *mqCustos) isGroup(state fleet.MergeGroupState) func() bool {
	return func() bool { return c.group().State == state }
}

// wants looks at the state of an item.
func (c *mqCustos) wants(id string, state fleet.MergeState) {
	if i := c.item(id); i.State != state {
		c.w.fail("%s is %s (%s), not %s", id, i.State, i.Why, state)
	}
}

func TestMergeOneLands(t *testing.T) {
	w, c := oneMQ(t, "build", "test")
	c.must(c.addItem("a", "a1", mqChange{}))
	w.run(6 * time.Hour)
	c.wants("mq1", fleet.MergeMerged)
	c.checkEnd()
}

// What a person takes back, or holds, after its gates have passed, does not land.
func TestMergeOfWhatIsTakenBackNothingLands(t *testing.T) {
	for name, take := range map[string]func(*mqCustos) error{
		"withdrawn": func(c *mqCustos) error { return c.withdraw("mq1") },
		"held":      func(c *mqCustos) error { return c.holdItem("mq1") },
		"gates":     func(c *mqCustos) error { c.queue.Digest = "d2"; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w, c := oneMQ(t, "test")
			c.must(c.addItem("a", "a1", mqChange{}))
			c.must(c.addItem("b", "b1", mqChange{}))
			c.until("green", c.isGroup(fleet.GroupGreen))
			c.must(take(c))
			if name == "gates" {
				c.green = map[string]bool{} // what passed others says nothing
			}
			w.run(w.now + 12*time.Hour)
			c.wants("mq2", fleet.MergeMerged)
			if name != "gates" && w.remote.tip.has("a1") {
				t.Fatal("it landed")
			}
		})
	}
}

// The target has moved since an item failed alone: it is blamed, or merged, all the same.
func TestMergeBlamesOnATargetThatMovesOn(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.remote.push("p0", mqChange{})
	c.must(c.addItem("a", "a1", mqChange{culprit: true}))
	for n := range 20 {
		c.until("decided", func() bool { return c.group().Decided() })
		w.remote.push("p1"+string(rune('a'+n)), mqChange{})
		w.run(w.now + 10*time.Minute)
	}
	c.wants("mq1", fleet.MergeFailed)
	if c.gateRuns > 6 {
		t.Errorf("it took %d runs", c.gateRuns)
	}
}

// What has landed is merged, whatever was said of it in the meantime.
func TestMergeOfWhatHasLandedTheTruthIsTold(t *testing.T) {
	w, c := oneMQ(t, "test")
	c.must(c.addItem("a", "a1", mqChange{}))
	c.must(c.addItem("b", "b1", mqChange{}))
	c.until("landed", func() bool { return w.remote.tip.has("b1") })
	c.must(c.withdraw("mq1"))
	w.remote.branches["b"] = "b2"
	c.must(c.addItem("b", "b2", mqChange{}))
	w.run(w.now + time.Minute)
	c.wants("mq1", fleet.MergeMerged)
	c.wants("mq2", fleet.MergeWaiting)
	w.run(w.now + 6*time.Hour)
	c.wants("mq2", fleet.MergeMerged)
	c.checkEnd()
}

// A group that is given up while its worktree is made leaves none.
func TestMergeGivenUpWhileItIsBuiltLeavesNothing(t *testing.T) {
	w, c := oneMQ(t, "test")
	c.must(c.addItem("a", "a1", mqChange{}))
	c.until("built", func() bool { return len(c.made) > 0 })
	c.must(c.withdraw("mq1"))
	w.run(w.now + 2*time.Hour)
	c.checkEnd()
}

// Nor does one that was built by a Custos that stopped, and cannot be built by the next one.
func TestMergeBuiltTwiceLeavesNothing(t *testing.T) {
	w, c := oneMQ(t, "test")
	c.must(c.addItem("a", "a1", mqChange{}))
	c.until("built", func() bool { return len(c.made) > 0 })
	c.crash(time.Minute)
	w.remote.changes["a2"], w.remote.branches["a"] = mqChange{empty: true}, "a2"
	w.run(w.now + 2*time.Hour)
	c.checkEnd()
}

// A run of gates ends in the very pass in which its group is given up: it is changed once.
func TestMergeGivesUpARunThatMoves(t *testing.T) {
	w, c := oneMQ(t, "build", "test")
	c.must(c.addItem("a", "a1", mqChange{}))
	c.until("tested", c.isGroup(fleet.GroupTesting))
	c.until("runs", func() bool { return len(c.running) > 0 })
	c.until("ended", func() bool { return len(c.running) == 0 })
	c.must(c.withdraw("mq1"))
	w.run(w.now + 2*time.Hour)
	c.checkEnd()
}

// A failed item that a person releases is tried again, though its tree is known.
func TestMergeReleasedIsTriedAgain(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.remote.push("p0", mqChange{})
	c.must(c.addItem("a", "a1", mqChange{culprit: true}))
	c.until("failed", func() bool { return c.item("mq1").State == fleet.MergeFailed })
	w.remote.commits = map[string]*mqCommit{w.remote.tip.id: w.remote.tip}
	w.remote.changes["a1"] = mqChange{} // it was what is around the gates
	c.must(c.release("mq1"))
	w.run(w.now + 6*time.Hour)
	c.wants("mq1", fleet.MergeMerged)
}

// What needs an item that cannot be merged does not land without it.
func TestMergeNeedsWhatIsLeftOut(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.remote.push("p0", mqChange{})
	for _, s := range []string{"x", "a", "b"} {
		c.must(c.addItem(s, s+"1", mqChange{}, func(i *fleet.MergeItem) {
			if s == "b" {
				i.Needs = []string{"mq2"}
			}
		}))
	}
	w.remote.clash("a1", "p0")
	w.run(w.now + 6*time.Hour)
	c.wants("mq1", fleet.MergeMerged)
	c.wants("mq2", fleet.MergeConflict)
	c.wants("mq3", fleet.MergeWaiting)
}

// On a target that fails by itself nothing is tried without what it needs.
func TestMergeNeedsOnARedTarget(t *testing.T) {
	w, c := oneMQ(t, "test")
	w.remote.push("p0", mqChange{breaks: true})
	c.must(c.addItem("a", "a1", mqChange{}))
	w.run(w.now + 12*time.Hour)
	c.must(c.addItem("b", "b1", mqChange{mends: true}, func(i *fleet.MergeItem) { i.Needs = []string{"mq1"} }))
	groups := c.book.next["mg"]
	w.run(w.now + 6*time.Hour)
	c.wants("mq2", fleet.MergeWaiting)
	if more := c.book.next["mg"] - groups; more > 2*6 { // the target itself is tried once an hour
		t.Errorf("%d groups were made of it", more)
	}
}
