package runs

import (
	"strconv"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger/cron"
)

// longestLookBack is how many slots of a cron are looked at to find one whose
// delay is over.
const longestLookBack = 64

// cron is due at the newest slot after the one that was run last. A schedule that
// never ran is due from the start of Custos on: what was before, nobody missed.
func (d *dues) cron(s *fleet.Schedule, last fleet.Run) (fleet.Instant, bool) {
	loc, err := cron.Zone(s.Zone)
	if err != nil {
		return fleet.Instant{}, false
	}
	now := d.at.Wall.In(loc)
	since := d.ranUpTo(last)
	if next, ok := cron.Next(s.Cron, since.In(loc)); ok && next.After(now) {
		d.wake(d.wall(next))
		return fleet.Instant{}, false
	}
	before := now
	for range longestLookBack {
		slot, ok := cron.Before(s.Cron, before)
		if !ok || !slot.After(since) || d.ran(s.Name, slot) {
			break
		}
		if slot, due := d.jittered(s, d.wall(slot), 0, strconv.FormatInt(slot.Unix(), 10)); due {
			return slot, true
		}
		before = slot.Add(-time.Second)
	}
	if next, ok := cron.Next(s.Cron, now); ok {
		d.wake(d.wall(next))
	}
	return fleet.Instant{}, false
}

// wall is a moment of the wall clock, by both clocks.
func (d *dues) wall(t time.Time) fleet.Instant { return d.at.Add(t.Sub(d.at.Wall)) }

// ranUpTo returns the moment, on the wall clock as it is now, up to which nothing
// is due any more. A clock that was set ahead passed over slots: they count from
// the slot before, as it was. A clock that was set back comes to slots that it has
// passed: how long ago the last one was run is told by the boot clock, and after a
// boot by nothing, so there it counts from the start of Custos.
func (d *dues) ranUpTo(last fleet.Run) time.Time {
	if last.ID == "" {
		return d.at.Wall.Add(-d.at.Since(d.past.StartedAt))
	}
	ref := last.Slot
	if ref.Wall.After(d.at.Wall) && ref.Boot != d.at.Boot {
		ref = d.past.StartedAt
	}
	since := d.at.Wall.Add(-d.at.Since(ref))
	if last.Slot.Wall.Before(since) {
		return last.Slot.Wall
	}
	return since
}

// ran says whether a slot has a run: a clock that was set back shows it again.
func (d *dues) ran(schedule string, slot time.Time) bool {
	for _, r := range d.past.Runs {
		if r.Schedule == schedule && r.Slot.Wall.Equal(slot) {
			return true
		}
	}
	return false
}
