package view

import (
	"fmt"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Vitals is what Custos knows of its own passes. Instants are zero for never.
type Vitals struct {
	Daemon    bool
	Passed    fleet.Instant // the last whole pass ended; only a daemon knows
	Patrolled fleet.Instant // the last whole patrol ended
	Every     time.Duration // from the last patrol to the next one; 0 without a daemon
	Trouble   string        // why the last pass could not be finished
	Full      string        // why nothing can be written down
	Notes     []string      // what a person should know though passes are made
	Receivers []fleet.Receiver
	Hung      []string // parts whose probe did not answer by its deadline, each with its name
}

// A daemon makes a pass each 15 seconds, whatever happens. A patrol is late when a
// whole turn and some time for its work were left out, as for the rule self-late.
const (
	PassLate    = 2 * time.Minute
	patrolSlack = time.Minute
	muteAfter   = 2 * time.Minute // as the rule self-mute
)

// Health judges what is known of the passes. What is not known is not well.
func Health(v Vitals, now fleet.Instant, maxAge time.Duration) api.Health {
	h := api.Health{LastPass: Moment(v.Passed), PassAge: ageOf(v.Passed, now), LastPatrol: Moment(v.Patrolled), PatrolAge: ageOf(v.Patrolled, now), Trouble: v.Trouble, Mute: mute(v.Receivers), Notes: v.Notes, Hung: v.Hung}
	if !v.Daemon {
		h.State, h.Why = api.HealthNone, "no daemon is running"
		return h
	}
	h.MaxAge, h.Every = maxAge.String(), v.Every.String()
	h.State, h.Why = judged(v, now, maxAge)
	return h
}

// mute lists the notifiers by which no message arrives, as the rule self-mute has it.
func mute(all []fleet.Receiver) (out []string) {
	for _, r := range all {
		switch {
		case r.Barred != "":
			out = append(out, r.Name+": "+r.Barred)
		case time.Duration(r.Waiting) > muteAfter:
			out = append(out, fmt.Sprintf("%s: nothing has arrived for %s: %s", r.Name, time.Duration(r.Waiting).Round(time.Second), r.Why))
		}
	}
	return out
}

func judged(v Vitals, now fleet.Instant, maxAge time.Duration) (state, why string) {
	limit := 2*v.Every + patrolSlack
	switch {
	case v.Full != "" || v.Trouble != "":
		return api.HealthFailing, failing(v)
	case v.Passed.IsZero():
		return api.HealthStarting, "no whole pass was made yet"
	case now.Since(v.Passed) > maxAge:
		return api.HealthLate, "the last whole pass ended " + ageOf(v.Passed, now) + " ago; allowed are " + maxAge.String()
	case v.Patrolled.IsZero():
		return api.HealthStarting, "no whole patrol was made yet"
	case now.Since(v.Patrolled) > limit:
		return api.HealthLate, "the last whole patrol ended " + ageOf(v.Patrolled, now) + " ago; allowed are " + limit.String()
	case len(v.Hung) > 0:
		return api.HealthBlind, "not seen, for its probe does not answer: " + strings.Join(v.Hung, ", ")
	}
	return api.HealthWell, ""
}

// failing says why nothing is finished: the cause before what follows from it, whether or
// not a pass has met it yet.
func failing(v Vitals) string {
	switch {
	case v.Trouble == "":
		return v.Full
	case v.Full == "":
		return "passes cannot be finished: " + v.Trouble
	}
	return v.Full + "; passes cannot be finished: " + v.Trouble
}

func ageOf(at, now fleet.Instant) string {
	if at.IsZero() {
		return ""
	}
	return max(0, now.Since(at)).Round(time.Millisecond).String()
}
