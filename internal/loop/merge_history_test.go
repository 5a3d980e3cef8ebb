package loop_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// mqHistory is a small history: what people, agents and the machine do to one queue or two.
type mqHistory struct {
	*mqWorld
	t       *rapid.T
	commits int
	sources []string
}

// pickMQ draws one of what there is.
func (h *mqHistory) draw(n int) int { return rapid.IntRange(0, n-1).Draw(h.t, "chance") }

func (h *mqHistory) custos() *mqCustos { return h.all[h.draw(len(h.all))] }

// mqHistoriesShare: so many histories of the core take as long as one of these, which play whole days.
const mqHistoriesShare = 15

// TestMergeHistories: whatever happens, nothing lands that has not passed, nothing is lost, doubled or
// blamed in error, and each item says why it waits.
func TestMergeHistories(t *testing.T) {
	set := mqRules(t)
	fleettest.Checks(t, fleettest.Histories(t)/mqHistoriesShare)
	rapid.Check(t, func(t *rapid.T) {
		h := &mqHistory{t: t}
		h.mqWorld = newMQWorld(set, func(format string, args ...any) { t.Helper(); t.Fatalf(format, args...) }, h.draw)
		h.begin()
		for range rapid.IntRange(1, 25).Draw(t, "happenings") {
			h.happen()
			h.run(h.now + time.Duration(1+h.mqWorld.draw(90))*time.Minute/2)
		}
		h.end()
	})
}

func (h *mqHistory) begin() {
	h.blur = []int{0, 0, 20}[h.draw(3)]
	h.flaky = []int{0, 0, 0, 20, 300}[h.draw(5)]
	h.blames = h.flaky > 0
	h.gates = 15 * time.Minute
	h.gap = func() time.Duration { return time.Duration(1+h.draw(20)*h.draw(4)) * time.Second }
	for n := range 1 + h.draw(2) {
		gates := []string{"build", "test"}[:1+h.draw(2)]
		c := h.add([]string{"one", "two"}[n], 1+h.draw(5), gates...)
		c.queue.Wait = fleet.Duration(time.Duration(h.draw(3)) * 20 * time.Minute)
	}
}

func (h *mqHistory) happen() {
	switch c := h.custos(); h.draw(20) {
	case 0, 1, 2, 3, 4, 5, 6:
		h.addOne(c)
	case 7, 8:
		h.addAgain(c)
	case 9:
		h.toItem(c, c.withdraw)
	case 10:
		h.toItem(c, c.holdItem)
	case 11:
		h.toItem(c, c.release)
	case 12:
		_ = c.holdQueue()
	case 13:
		_ = c.releaseQueue()
	case 14:
		h.commits++
		h.remote.push(fmt.Sprintf("p%d", h.commits), mqChange{})
	case 15, 16:
		h.crashIn = 1 + h.draw(12)
	case 17:
		h.sometimes(c)
	case 18:
		c.cancelRun()
	case 19:
		h.clashing(c)
	}
}

// sometimes is what happens to a queue as a whole.
func (h *mqHistory) sometimes(c *mqCustos) {
	switch h.draw(6) {
	case 0:
		h.remote.down = !h.remote.down
	case 1:
		c.policy.Frozen = []string{"", "ann"}[h.draw(2)]
	case 2:
		c.queue.Digest = fmt.Sprintf("d%d", h.draw(2))
	case 3:
		c.policy.Merges = c.policy.Merges[:h.draw(2)]
	case 4:
		h.remote.declines = []string{"", "a hook says no"}[h.draw(2)]
	case 5:
		delete(h.remote.branches, fmt.Sprintf("b%d", h.draw(1+h.commits)))
	}
	c.happened()
}

func (h *mqHistory) addOne(c *mqCustos) {
	h.commits++
	n := h.draw(10)
	is := mqChange{culprit: n == 0 || n == 1, empty: n == 2 && h.draw(3) == 0}
	h.sources = append(h.sources, fmt.Sprintf("b%d", h.commits))
	_ = c.addItem(h.sources[len(h.sources)-1], fmt.Sprintf("c%d", h.commits), is, func(i *fleet.MergeItem) {
		i.Priority = fleet.Priority(fmt.Sprintf("P%d", h.draw(5)))
		if all := c.book.past.Records.Merges; len(all) > 0 && h.draw(4) == 0 {
			i.Needs = []string{all[h.draw(len(all))].ID}
		}
	})
}

// addAgain adds a branch of the queue at another commit, or only moves it.
func (h *mqHistory) addAgain(c *mqCustos) {
	all := c.book.past.Records.Merges
	if len(all) == 0 {
		return
	}
	i := all[h.draw(len(all))]
	h.commits++
	commit, is := fmt.Sprintf("c%d", h.commits), mqChange{culprit: h.draw(6) == 0}
	if h.draw(3) == 0 {
		h.remote.changes[commit], h.remote.branches[i.Source] = is, commit
		return
	}
	_ = c.addItem(i.Source, commit, is)
}

func (h *mqHistory) toItem(c *mqCustos, do func(string) error) {
	if all := c.book.past.Records.Merges; len(all) > 0 {
		_ = do(all[h.draw(len(all))].ID)
	}
}

// clashing makes an item conflict with another.
func (h *mqHistory) clashing(c *mqCustos) {
	all := c.book.past.Records.Merges
	if len(all) < 2 {
		return
	}
	a, b := all[h.draw(len(all))].Commit, all[h.draw(len(all))].Commit
	if a != b && !h.remote.tip.has(a) {
		h.remote.clash(a, b)
	}
}

// end lets all go on until it is quiet, and looks whether everything has ended as it had to.
func (h *mqHistory) end() {
	h.crashIn, h.remote.down, h.remote.declines, h.blur = 0, false, "", 0
	for _, c := range h.all {
		c.policy.Frozen, c.policy.Merges = "", c.policy.Merges[:1]
		_ = c.releaseQueue()
		c.happened()
	}
	h.run(h.now + 4*24*time.Hour)
	for _, c := range h.all {
		_ = c.releaseQueue() // it may have been held for what happened before
	}
	h.run(h.now + 4*24*time.Hour)
	for _, c := range h.all {
		c.checkEnd()
	}
}
