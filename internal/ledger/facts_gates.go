package ledger

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// gateShown is how long a gate that is closed is still a fact.
const gateShown = 24 * time.Hour

// gates are those that are open, with what keeps them from being judged, and those
// that were closed lately.
func (f facts) gates() (out []fleet.GateFacts) {
	w := WatchGates(f.past, f.snap, f.past.Alerts, f.trackers)
	out = slices.Grow(out, len(f.past.Records.Gates))
	for i := range f.past.Records.Gates {
		g := &f.past.Records.Gates[i]
		is := fleet.GateFacts{ID: g.ID, Type: g.Type, Title: g.Title, Project: g.Project, State: g.State, Outcome: g.Outcome, Why: g.Why,
			Waiters: g.Waiters, Age: f.age(g.At)}
		switch {
		case !g.Over():
			saw := w.See(g)
			is.Why, is.Blind, is.Overdue = fleet.Line(saw.Why, 400), saw.Blind, f.late(g.Due)
			is.Closing = saw.Outcome != ""
		case f.snap.At.Since(g.Since) > gateShown:
			continue
		}
		out = append(out, is)
	}
	return out
}
