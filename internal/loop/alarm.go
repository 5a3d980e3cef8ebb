package loop

import (
	"time"

	"custos/internal/fleet"
)

// alarm wakes the loop when something is due: a guard lifts that refused
// something, a rule has been true for long enough. What waits for a moment then
// does not wait for the next tick too.
type alarm struct {
	timer *time.Timer
	at    fleet.Instant
}

// spacing is the least time from a pass to the alarm that it sets. Whatever gives
// a new moment in each pass, always a little ahead, costs so many passes and no
// more.
const spacing = 100 * time.Millisecond

// set sets the alarm to the earliest of the moments that lie after now. wake is
// called at most once for each moment.
func (a *alarm) set(now fleet.Instant, moments []fleet.Instant, wake func(string)) {
	next, ok := earliest(now, moments)
	if !ok || a.timer != nil && a.at == next {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.at = next
	a.timer = time.AfterFunc(max(next.Since(now), spacing), func() { wake("what waited for a moment is due") })
}

func earliest(now fleet.Instant, moments []fleet.Instant) (next fleet.Instant, ok bool) {
	for _, at := range moments {
		if !at.IsZero() && now.Before(at) && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// moments lists when something of a pass is due. Some may be over.
func (l *Loop) moments(p fleet.Pass) (list []fleet.Instant) {
	for _, s := range p.Plan.Skipped {
		list = append(list, s.Until)
	}
	for _, o := range p.Plan.Orders {
		if !o.IsOver() {
			list = append(list, o.Until)
		}
	}
	for _, a := range p.Assessment.Alerts {
		if at, ok := l.fires(a); ok {
			list = append(list, at)
		}
	}
	return list
}

// fires says when an alert will have been pending for long enough. One that
// waits for patrols waits for no clock.
func (l *Loop) fires(a fleet.Alert) (fleet.Instant, bool) {
	r := l.o.Rules.Rule(a.Rule)
	if a.Status != fleet.AlertPending || r == nil || a.Patrols < r.ForPatrols {
		return fleet.Instant{}, false
	}
	return a.Since.Add(time.Duration(r.For)), true
}
