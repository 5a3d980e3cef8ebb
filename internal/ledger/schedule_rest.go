package ledger

import (
	"math"
	"slices"
	"time"

	"custos/internal/fleet"
)

// rest is due so long after the last run of its formula ended: by schedule or by
// hand, well or not. One that never ran is due at once.
func (d *dues) rest(s *fleet.Schedule) (fleet.Instant, bool) {
	ended, ran := d.lastEnd(s)
	if !ran {
		return d.past.StartedAt, true
	}
	passed := d.at.Since(ended)
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

// lastEnd is when the last run of the schedule's formula and project ended.
func (d *dues) lastEnd(s *fleet.Schedule) (end fleet.Instant, ran bool) {
	for _, r := range d.past.Runs {
		if r.IsOver() && !r.EndedAt.IsZero() && r.Flight() == s.Run.Flight() && (!ran || isLater(r.EndedAt, end, d.at)) {
			end, ran = r.EndedAt, true
		}
	}
	return end, ran
}

// queued is a schedule that is due, and shares a queue.
type queued struct {
	s    *fleet.Schedule
	slot fleet.Instant
}

// inTurn begins one run of each queue that nothing of runs now: in the order of
// the schedules, but what has waited since before the queue's last run began goes
// first, the longest waiting of those before the others; so none is left behind
// by others that are always due. A run that waits for a person holds up nobody.
func (d *dues) inTurn(waiting []queued) {
	for len(waiting) > 0 {
		queue := waiting[0].s.Run.Queue
		others := func(w queued) bool { return w.s.Run.Queue != queue }
		d.begin(queue, slices.DeleteFunc(slices.Clone(waiting), others))
		waiting = slices.DeleteFunc(waiting, func(w queued) bool { return !others(w) })
	}
}

// begin begins one of those that wait in a queue.
func (d *dues) begin(queue string, waiting []queued) {
	var last fleet.Instant
	for _, r := range d.past.Runs {
		if r.Queue != queue {
			continue
		}
		if !r.IsOver() && r.State != fleet.RunPerson {
			return
		}
		if last.IsZero() || isLater(r.At, last, d.at) {
			last = r.At
		}
	}
	slices.SortStableFunc(waiting, func(a, b queued) int { return earlier(d.waits(a), d.waits(b), d.at.Since(last)) })
	for _, w := range waiting {
		if d.take(w.s, w.slot) {
			return
		}
	}
}

// earlier puts in order who goes first, by how long each has waited, and how long
// ago the last one began.
func earlier(a, b, last time.Duration) int {
	passed, other := a >= last, b >= last
	switch {
	case passed && (!other || a > b):
		return -1
	case other && (!passed || b > a):
		return 1
	}
	return 0
}

// forever is how long one has waited that never ran.
const forever = time.Duration(math.MaxInt64)

// waits is how long a schedule has waited for its turn. Since when a condition
// holds nobody noted; it did not when it was last seen to.
func (d *dues) waits(w queued) time.Duration {
	last := newestOf(d.past.Runs, w.s.Name, d.at)
	end, ran := d.lastEnd(w.s)
	switch {
	case last.ID == "" && !ran:
		return forever
	case w.s.Conditional() && !last.Lapsed.IsZero():
		return d.at.Since(last.Lapsed)
	case w.s.Conditional() && ran:
		return d.at.Since(end) - time.Duration(w.s.Rest)
	}
	return d.at.Since(w.slot)
}
