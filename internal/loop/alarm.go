package loop

import (
	"time"

	"custos/internal/fleet"
)

// alarm wakes the loop when the earliest guard lifts that refused something in
// a plan, so that what waits for a moment does not wait for the next tick too.
type alarm struct {
	timer *time.Timer
	at    fleet.Instant
}

// set looks at a plan. wake is called at most once for each moment.
func (a *alarm) set(plan fleet.Plan, wake func(string)) {
	next, ok := earliest(plan)
	if !ok || a.timer != nil && a.at == next {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.at = next
	a.timer = time.AfterFunc(next.Since(plan.At), func() { wake("what was refused until now may be done") })
}

// earliest is the first moment after the plan's at which a refusal ends.
func earliest(plan fleet.Plan) (next fleet.Instant, ok bool) {
	consider := func(until fleet.Instant) {
		if !until.IsZero() && plan.At.Before(until) && (!ok || until.Before(next)) {
			next, ok = until, true
		}
	}
	for _, s := range plan.Skipped {
		consider(s.Until)
	}
	for _, o := range plan.Orders {
		if !o.IsOver() {
			consider(o.Until)
		}
	}
	return next, ok
}
