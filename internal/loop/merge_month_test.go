package loop_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/rules"
)

func mqRules(t testing.TB) *rules.Set {
	t.Helper()
	set, err := (rules.Checker{}).Parse("rules.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// seededMQ is a world whose chance is a seed.
func seededMQ(t testing.TB, seed uint64) *mqWorld {
	r := rand.New(rand.NewPCG(seed, seed))
	return newMQWorld(mqRules(t), func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
	}, r.IntN)
}

// mqMonth is a month of items.
type mqMonth struct {
	items, batch, culprits, flaky int // culprits and flaky: of a thousand
	days                          int // in which they are added
	others                        int // pushes of a person
	two, urgent                   bool
}

// arrivals are moments of the month, in their order: agents work at night, too.
func (m mqMonth) arrivals(w *mqWorld) (at []time.Duration) {
	for range m.items {
		at = append(at, time.Duration(w.draw(m.days*24*3600))*time.Second)
	}
	slices.Sort(at)
	return at
}

// whichFail are the culprits, just as many as there are to be.
func (m mqMonth) whichFail(w *mqWorld) map[int]bool {
	list := map[int]bool{}
	for len(list) < m.items*m.culprits/1000 {
		list[w.draw(m.items)] = true
	}
	return list
}

// priority: most items have the same; some are more, or less, urgent.
func (m mqMonth) priority(w *mqWorld) fleet.Priority {
	if !m.urgent {
		return fleet.P3
	}
	if n := w.draw(20); n < 5 {
		return fleet.Priority(fmt.Sprint("P", n))
	}
	return fleet.P3
}

// live lives through the month, and until all is quiet.
func (m mqMonth) live(w *mqWorld) {
	w.flaky = m.flaky
	w.add("one", m.batch, "test").queue.Wait = fleet.Duration(3 * time.Hour)
	if m.two {
		w.add("two", m.batch, "test")
	}
	culprits := m.whichFail(w)
	for n, at := range m.arrivals(w) {
		w.run(at)
		if m.others > 0 && n%(m.items/m.others) == 0 {
			w.remote.push(fmt.Sprintf("p%d", n), mqChange{})
		}
		c := w.all[n%len(w.all)]
		if err := c.addItem(fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n), mqChange{culprit: culprits[n]}, func(i *fleet.MergeItem) { i.Priority = m.priority(w) }); err != nil {
			w.fail("%v", err)
		}
	}
	w.run(w.now + 15*24*time.Hour)
	for _, c := range w.all {
		c.checkEnd()
	}
}

func (w *mqWorld) gateRuns() (n int) {
	for _, c := range w.all {
		n += c.gateRuns
	}
	return n
}

func (w *mqWorld) perItem() float64 {
	n := 0
	for _, c := range w.all {
		n += c.book.next["mq"]
	}
	return float64(w.gateRuns()) / float64(n)
}

// A month of a busy queue takes a third of the runs that one item after the other takes, and
// each culprit costs no more runs than it takes to find one among so many.
func TestMergeMonth(t *testing.T) {
	m, one := mqMonth{items: 2000, days: 30, batch: 8, culprits: 50}, mqMonth{items: 200, days: 10, batch: 1, culprits: 50}
	whole := fleettest.Histories(t) >= 5000 // make histories: with the race detector it takes a minute
	if !whole {
		m.items, m.days = 400, 6
	}
	many, serial := seededMQ(t, 1), seededMQ(t, 1)
	m.live(many)
	one.live(serial)
	alone := float64(m.items) * 0.95 / float64(m.batch) // runs, if nobody failed
	extra := (float64(many.gateRuns()) - alone) / (float64(m.items) * 0.05)
	t.Logf("%d items, 5 %% culprits, batch %d: %.3f gate runs for each, one by one %.3f; %.1f more for each culprit; %d passes", m.items, m.batch, many.perItem(), serial.perItem(), extra, many.passes)
	if !whole {
		return // while little is known of the gates they are asked more often
	}
	if many.perItem() > 0.35 {
		t.Errorf("%.3f gate runs for each item", many.perItem())
	}
	if most := 1 + math.Log2(float64(m.batch)) + 1; extra > most {
		t.Errorf("%.1f more runs for each culprit, not %.1f", extra, most)
	}
}

// Gates that fail by chance blame nobody, be it every third time.
func TestMergeMonthOfFlakyGates(t *testing.T) {
	for _, flaky := range []int{20, 300} {
		m := mqMonth{items: 300, days: 6, batch: 8, culprits: 50, flaky: flaky}
		w := seededMQ(t, 100)
		m.live(w)
		t.Logf("%d %% flaky: %.3f gate runs for each item", flaky/10, w.perItem())
	}
}

// Whatever the priorities, nobody lets more pass than those who were more urgent, and added soon after.
func TestMergeMonthOfPriorities(t *testing.T) {
	m := mqMonth{items: 300, days: 5, batch: 8, culprits: 50, urgent: true}
	w := seededMQ(t, 4)
	m.live(w)
	t.Logf("at most %d groups with newer items went ahead of one", w.all[0].longest)
	if most := int(5 * time.Duration(w.all[0].queue.Ageing) / (w.gates / 2)); w.all[0].longest > most {
		t.Errorf("%d groups with newer items went ahead of one, not %d", w.all[0].longest, most)
	}
}

// Two on one target, and a person who pushes: nothing is lost.
func TestMergeMonthOfTwo(t *testing.T) {
	m := mqMonth{items: 300, days: 8, batch: 8, culprits: 50, two: true, others: 60}
	w := seededMQ(t, 2)
	m.live(w)
	t.Logf("two queues and a person: %.3f gate runs for each item", w.perItem())
}
