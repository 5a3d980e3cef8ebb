package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"custos/internal/api"
	follow "custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/library"
)

// Schedules lists the schedules for people.
func (d OnDisk) Schedules(ctx context.Context) ([]api.ScheduleRow, error) {
	now := d.Now()
	past, err := d.Past(ctx)
	if err != nil {
		return nil, err
	}
	seen := d.Look(ctx, past, d.Library.Schedules.RestsOn(ctx))
	policy := d.Library.Schedules.Policy(ctx, seen)
	rows := make([]api.ScheduleRow, 0, len(policy.Schedules))
	for _, of := range policy.Schedules {
		row := api.ScheduleRow{Name: of.Name, Formula: of.Run.Formula, Project: of.Run.Project, When: of.Words(), Source: of.Run.Source,
			Enabled: of.Enabled, NextAt: []time.Time{}, Holds: of.Holds}
		if last := library.LastRun(past.Runs, of.Name); last != nil {
			at := last.At.Wall.UTC()
			row.LastRun, row.LastAt, row.LastDone = last.ID, &at, string(last.State)
		}
		row.WhyNot = cmp.Or(whyNot(of, past, d.Library.Formulas.Disabled(of.Run.Formula)), follow.Waits(of, past, *seen))
		if row.WhyNot == "" {
			row.NextAt = nextTimes(of, past, now)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// whyNot says why a schedule starts nothing now; "" when only its time is awaited.
func whyNot(s fleet.Schedule, past fleet.Past, disabled string) string {
	switch {
	case s.Broken != "":
		return s.Broken
	case disabled != "":
		return "disabled: " + disabled
	case !s.Enabled:
		return "its section says enabled = false"
	}
	for _, r := range past.Runs {
		if !r.IsOver() && r.Flight() == s.Run.Flight() {
			return "run " + r.ID + " of it is " + string(r.State)
		}
	}
	switch {
	case s.Conditional() && s.Holds == nil:
		return "it cannot be told whether its condition holds"
	case s.Conditional() && !*s.Holds:
		return "its condition does not hold"
	case s.On != "":
		return "nothing has happened that it waits for"
	}
	return ""
}

// timesShown is how many of the next times are shown.
const timesShown = 3

// nextTimes are the moments a schedule is due next, as the ledger itself reckons
// them: with its delay.
func nextTimes(s fleet.Schedule, past fleet.Past, at fleet.Instant) []time.Time {
	out := []time.Time{}
	s.Enabled = true
	for len(out) < timesShown {
		due, next := follow.Due(fleet.RunPolicy{Schedules: []fleet.Schedule{s}}, past, fleet.Snapshot{At: at}, fleet.Assessment{})
		switch {
		case len(due) > 0 && due[0].IsOver(): // what is only written down
			past.Runs = append(slices.Clone(past.Runs), due[0])
		case len(due) > 0:
			done := due[0]
			done.State, done.EndedAt = fleet.RunDone, at
			past.Runs = append(slices.Clone(past.Runs), done)
			out = append(out, at.Wall.UTC())
		case next.IsZero() || !at.Before(next):
			return out
		default:
			at = next
		}
	}
	return out
}
