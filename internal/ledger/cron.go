package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"custos/internal/fleet"
)

// longestLookBack is how many slots of a cron are looked at to find one whose
// delay is over.
const longestLookBack = 64

// CheckCron says whether a cron expression has five fields that are sound, in a
// zone that there is (empty: UTC), and can ever be due: "0 0 31 2 *" never is.
func CheckCron(expr, zone string) error {
	loc, err := zoneOf(zone)
	if err != nil {
		return err
	}
	if n := len(strings.Fields(expr)); n != 5 && !strings.HasPrefix(expr, "@") {
		return fmt.Errorf("%w: cron %q has %d fields, not minute, hour, day, month and weekday", ErrIllegal, fleet.Line(expr, 80), n)
	}
	segments, err := gronx.Segments(expr)
	if err != nil || segments[0] != "0" {
		return fmt.Errorf("%w: cron %q is none, or names seconds", ErrIllegal, fleet.Line(expr, 80))
	}
	if err := checkFields(segments); err != nil {
		return fmt.Errorf("%w: cron %q: %w", ErrIllegal, fleet.Line(expr, 80), err)
	}
	// Eight years hold every date: also 29 February, around a year like 1900.
	for year := 2000; year < 2008; year++ {
		if _, ok := nextSlot(expr, time.Date(year, 1, 1, 0, 0, 0, 0, loc)); ok {
			return nil
		}
	}
	return fmt.Errorf("%w: cron %q is never due: there is no such date", ErrIllegal, fleet.Line(expr, 80))
}

// checkFields asks about each field alone: a whole expression is only asked about
// as far as it takes to know that it is not due.
func checkFields(segments []string) error {
	for pos, field := range segments {
		for _, part := range strings.Split(field, ",") {
			if err := checkField(part, pos); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkField(part string, pos int) error {
	c := &gronx.SegmentChecker{}
	c.SetRef(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC))
	if _, err := c.CheckDue(part, pos); err != nil {
		return fmt.Errorf("%q: %w", fleet.Line(part, 40), err)
	}
	_, step, stepped := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n <= 0) {
		return fmt.Errorf("%q does not step", fleet.Line(part, 40))
	}
	return nil
}

func zoneOf(zone string) (*time.Location, error) {
	if zone == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("%w: there is no zone %q", ErrIllegal, fleet.Line(zone, 80))
	}
	return loc, nil
}

// nextSlot returns when an expression is due after t. What is due in an hour that
// its time zone skips is due once, at the end of it.
func nextSlot(expr string, t time.Time) (time.Time, bool) {
	next, err := gronx.NextTickAfter(expr, t, false)
	ok := err == nil && next.After(t) && isDue(expr, next)
	for _, turn := t.ZoneBounds(); !turn.IsZero() && ok && turn.Before(next); _, turn = turn.ZoneBounds() {
		if turn.After(t) && isDueWithin(expr, turn) {
			return turn, true
		}
	}
	return next, ok
}

// slotBefore returns when an expression was due last, at t or before.
func slotBefore(expr string, t time.Time) (time.Time, bool) {
	before, err := gronx.PrevTickBefore(expr, t, true)
	before = before.Truncate(time.Second)
	ok := err == nil && !before.After(t) && isDue(expr, before)
	for turn, _ := t.ZoneBounds(); !turn.IsZero() && ok && turn.After(before); turn, _ = turn.Add(-1).ZoneBounds() {
		if isDueWithin(expr, turn) {
			return turn, true
		}
	}
	return before, ok
}

// isDueWithin says whether an expression is due in what the clocks of a zone skip
// when they turn.
func isDueWithin(expr string, turn time.Time) bool {
	_, was := turn.Add(-1).Zone()
	_, is := turn.Zone()
	if is <= was {
		return false // they turn back, or only change their name
	}
	skipped := civil(turn).Add(-time.Duration(is-was) * time.Second)
	first, err := gronx.NextTickAfter(expr, skipped, true)
	return err == nil && first.Before(civil(turn)) && isDue(expr, first)
}

// civil is what the clocks show, in a zone that skips nothing.
func civil(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func isDue(expr string, t time.Time) bool {
	due, err := gronx.New().IsDue(expr, t)
	return err == nil && due
}

// cron is due at the newest slot after the one that was run last. A schedule that
// never ran is due from the start of Custos on: what was before, nobody missed.
func (d *dues) cron(s *fleet.Schedule, last fleet.Run) (fleet.Instant, bool) {
	loc, err := zoneOf(s.Zone)
	if err != nil {
		return fleet.Instant{}, false
	}
	now := d.at.Wall.In(loc)
	since := d.ranUpTo(last)
	if next, ok := nextSlot(s.Cron, since.In(loc)); ok && next.After(now) {
		d.wake(d.wall(next))
		return fleet.Instant{}, false
	}
	before := now
	for range longestLookBack {
		slot, ok := slotBefore(s.Cron, before)
		if !ok || !slot.After(since) || d.ran(s.Name, slot) {
			break
		}
		if slot, due := d.jittered(s, d.wall(slot), 0, strconv.FormatInt(slot.Unix(), 10)); due {
			return slot, true
		}
		before = slot.Add(-time.Second)
	}
	if next, ok := nextSlot(s.Cron, now); ok {
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
