package runs

import (
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// rest is due so long after the last run of its formula ended: by schedule or by
// hand, well or not. One that never ran is due at once.
func (d *dues) rest(s *fleet.Schedule) (fleet.Instant, bool) {
	last := d.lastEnd(s)
	if last == nil {
		return d.past.StartedAt, true
	}
	passed := d.at.Since(last.EndedAt)
	if passed < 0 { // the wall clock went back between two boots: reckon from the start
		passed = d.at.Since(d.past.StartedAt)
	}
	over := passed - time.Duration(s.Rest)
	if over < 0 {
		d.wake(d.at.Add(-over))
		return fleet.Instant{}, false
	}
	return d.at.Add(-over), true
}

// rested says whether a schedule that has run may do so again because it waited
// long enough.
func (d *dues) rested(s *fleet.Schedule) bool {
	if s.Rest <= 0 {
		return false
	}
	_, due := d.rest(s)
	return due
}

// lastEnd is the run of the schedule's formula and project that ended last; nil when none
// did.
func (d *dues) lastEnd(s *fleet.Schedule) (last *fleet.Run) {
	for i := range d.past.Runs {
		r := &d.past.Runs[i]
		if r.IsOver() && !r.EndedAt.IsZero() && r.Flight() == s.Run.Flight() && (last == nil || ledger.IsLater(r.EndedAt, last.EndedAt, d.at)) {
			last = r
		}
	}
	return last
}

// queued is a schedule that is due, and shares a queue.
type queued struct {
	s     *fleet.Schedule
	slot  fleet.Instant
	began fleet.Instant // when it began last; zero: it never did
}

// inTurn begins one run of each queue that nothing of runs now: of the schedule
// that has not begun for longest, and of those that never did in their order. So
// none is left behind by others that are always due. A run that waits for a person
// holds up nobody.
func (d *dues) inTurn(waiting []queued) {
	for len(waiting) > 0 {
		queue := waiting[0].s.Run.Queue
		others := func(w queued) bool { return w.s.Run.Queue != queue }
		mine := slices.DeleteFunc(slices.Clone(waiting), others)
		if r := d.taker(queue); r != nil {
			d.behind(mine, "run "+r.ID+" is running", queue)
		} else {
			d.begin(mine)
		}
		waiting = slices.DeleteFunc(waiting, func(w queued) bool { return !others(w) })
	}
}

// taker is the run that a queue waits for; nil when it is free.
func (d *dues) taker(queue string) *fleet.Run {
	i := slices.IndexFunc(d.past.Runs, func(r fleet.Run) bool {
		return r.Queue == queue && !r.IsOver() && r.State != fleet.RunPerson
	})
	if i < 0 {
		return nil
	}
	return &d.past.Runs[i]
}

// begin begins one of those that wait in a queue.
func (d *dues) begin(waiting []queued) {
	for i := range waiting {
		waiting[i].began = newestOf(d.past.Runs, waiting[i].s.Name, d.at).At
	}
	slices.SortStableFunc(waiting, d.inOrder)
	for i, w := range waiting {
		if d.take(w.s, w.slot) {
			d.behind(waiting[i+1:], w.s.Subject().String()+" goes first", w.s.Run.Queue)
			return
		}
	}
}

// inOrder puts in order who goes first.
func (d *dues) inOrder(a, b queued) int {
	switch {
	case ledger.IsLater(b.began, a.began, d.at):
		return -1
	case ledger.IsLater(a.began, b.began, d.at):
		return 1
	}
	return 0
}
