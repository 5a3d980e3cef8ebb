package assess

import (
	"time"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// An alert that begins or ends so many times within the window flaps. While it
// does, it keeps firing for a while after each time it becomes false, so that it
// is one alert and not many. An alert that comes back within the window is the
// same alert, with its number and who acknowledged it.
const (
	flapWindow  = time.Hour
	flapChanges = 5
	flapHold    = 10 * time.Minute
	mostChanges = 20
)

// clock moves alerts on. When it is behind what was recorded, it moves nothing
// that depends on time.
type clock struct {
	now    fleet.Instant
	behind bool
}

// passed says whether at least d has gone by since then.
func (c clock) passed(d time.Duration, then fleet.Instant) bool {
	return d <= 0 || !c.behind && c.now.Since(then) >= d
}

// holds returns the alert of a rule that is true now. old may be nil.
func (c clock) holds(old *fleet.Alert, r *rules.Rule, patrol int64) fleet.Alert {
	a := c.reopen(old)
	a.Blind = ""
	if !c.behind || a.LastTrue.IsZero() {
		a.LastTrue = c.now
	}
	if patrol > 0 {
		a.Patrols++
	}
	if a.Status == fleet.AlertPending && c.passed(time.Duration(r.For), a.Since) && a.Patrols >= r.ForPatrols {
		a.Status, a.FiredAt = fleet.AlertFiring, c.now
		c.change(&a)
	}
	c.damp(&a)
	return a
}

// reopen returns the alert as it goes on, begins, or comes back.
func (c clock) reopen(old *fleet.Alert) fleet.Alert {
	begun := fleet.Alert{Status: fleet.AlertPending, Since: c.now}
	if old == nil {
		return begun
	}
	if old.Status != fleet.AlertResolved {
		return *old
	}
	if !c.passed(flapWindow, old.EndedAt) {
		begun.Number, begun.Changes, begun.AckedBy, begun.AckedAt = old.Number, old.Changes, old.AckedBy, old.AckedAt
	}
	return begun
}

// ends returns the alert of a rule that is false now, or whose subject is gone.
func (c clock) ends(old fleet.Alert, keep fleet.Duration) fleet.Alert {
	a := old
	a.Blind, a.Patrols = "", 0
	hold := time.Duration(keep)
	if a.Flapping {
		hold = max(hold, flapHold)
	}
	if a.Status == fleet.AlertFiring {
		if !c.passed(hold, a.LastTrue) {
			return a
		}
		c.change(&a)
	}
	a.Status, a.EndedAt, a.CausedBy = fleet.AlertResolved, c.now, nil
	c.damp(&a)
	return a
}

// blind returns the alert of a rule that cannot be answered: it stays as it is.
func (c clock) blind(old fleet.Alert, why string) fleet.Alert {
	old.Blind = why
	return old
}

// change notes that the alert begins or stops to fire. The slice is copied:
// the past is not ours to write to.
func (c clock) change(a *fleet.Alert) {
	a.Changes = append(append([]fleet.Instant(nil), a.Changes...), c.now)
}

// damp forgets changes that are too old to count, and says whether it flaps.
func (c clock) damp(a *fleet.Alert) {
	var young []fleet.Instant
	for _, at := range a.Changes {
		if !c.passed(flapWindow, at) {
			young = append(young, at)
		}
	}
	if len(young) > mostChanges {
		young = young[len(young)-mostChanges:]
	}
	a.Changes, a.Flapping = young, len(young) >= flapChanges
}
