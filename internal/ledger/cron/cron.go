// Package cron says of cron expressions whether they are sound, and when they are due, in a time zone.
package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"custos/internal/fleet"
)

// Check says whether a cron expression has five fields that are sound, in a
// zone that there is (empty: UTC), and can ever be due: "0 0 31 2 *" never is.
func Check(expr, zone string) error {
	loc, err := Zone(zone)
	if err != nil {
		return err
	}
	if n := len(strings.Fields(expr)); n != 5 && !strings.HasPrefix(expr, "@") {
		return fmt.Errorf("cron %q has %d fields, not minute, hour, day, month and weekday", fleet.Line(expr, 80), n)
	}
	segments, err := gronx.Segments(expr)
	if err != nil || segments[0] != "0" {
		return fmt.Errorf("cron %q is none, or names seconds", fleet.Line(expr, 80))
	}
	if err := checkFields(segments); err != nil {
		return fmt.Errorf("cron %q: %w", fleet.Line(expr, 80), err)
	}
	// Eight years hold every date: also 29 February, around a year like 1900.
	for year := 2000; year < 2008; year++ {
		if _, ok := Next(expr, time.Date(year, 1, 1, 0, 0, 0, 0, loc)); ok {
			return nil
		}
	}
	return fmt.Errorf("cron %q is never due: there is no such date", fleet.Line(expr, 80))
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

// Zone finds a time zone by its name; "" is UTC.
func Zone(zone string) (*time.Location, error) {
	if zone == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("there is no zone %q", fleet.Line(zone, 80))
	}
	return loc, nil
}

// Next returns when an expression is due after t. What is due in an hour that
// its time zone skips is due once, at the end of it.
func Next(expr string, t time.Time) (time.Time, bool) {
	next, err := gronx.NextTickAfter(expr, t, false)
	ok := err == nil && next.After(t) && isDue(expr, next)
	for _, turn := t.ZoneBounds(); !turn.IsZero() && ok && turn.Before(next); _, turn = turn.ZoneBounds() {
		if turn.After(t) && isDueWithin(expr, turn) {
			return turn, true
		}
	}
	return next, ok
}

// Before returns when an expression was due last, at t or before.
func Before(expr string, t time.Time) (time.Time, bool) {
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
