package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/api"
)

// An agent's hooks tell that it asks before its screen shows what: an answer that comes in
// between waits for the dialog, for a moment or for as long as it was told to, and no longer.
func TestAnAnswerWaitsForTheDialogToBeDrawn(t *testing.T) {
	for name, c := range map[string]struct {
		state string
		pid   int
		draws time.Duration // 0: never
		wait  time.Duration
		asked bool
		found bool
		took  time.Duration // at most
	}{
		"at once":                     {"waiting", 7, time.Nanosecond, drawing, false, true, 0},
		"a moment later":              {"waiting", 7, time.Second, drawing, false, true, time.Second + pollAgent},
		"never":                       {"waiting", 7, 0, drawing, false, false, drawing},
		"it does not ask":             {"working", 7, time.Second, drawing, false, false, 0},
		"it will ask, and that waits": {"working", 7, 20 * time.Second, time.Minute, true, true, 20*time.Second + pollAgent},
		"one look did not see it":     {"unknown", 0, time.Second, time.Minute, true, true, time.Second + pollAgent},
		"it is not seen":              {"unknown", 0, 0, drawing, false, false, drawing},
		"it has ended":                {"crashed", 0, time.Second, time.Minute, true, false, 0},
		"no wait at all":              {"waiting", 7, time.Second, 0, true, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			v, err := drawn(t.Context(), c.wait, mayAsk(c.asked), func(context.Context) (api.AgentDetail, error) {
				var d api.AgentDetail
				d.Agent.State, d.Agent.PID = c.state, c.pid
				if c.draws == time.Nanosecond || c.draws > 0 && time.Since(began) >= c.draws {
					d.Dialog = &api.AgentDialog{Hash: "abcd"}
				}
				return d, nil
			})
			if took := time.Since(began); err != nil || (v.Dialog != nil) != c.found || took > c.took {
				t.Errorf("%s: found %v after %s, %v", name, v.Dialog != nil, took, err)
			}
		})
	}
}

// Who looks at an agent that has just begun to ask is shown what it asks: the look that reads it is
// waited for. One that has asked for long, or whose dialog cannot be read, is shown at once.
func TestShowWaitsForADialogThatIsBeingRead(t *testing.T) {
	for name, c := range map[string]struct {
		state, since string
		draws        time.Duration
		found        bool
		took         time.Duration // at most
	}{
		"it has begun to ask":   {"waiting", "1s", 2 * time.Second, true, 2*time.Second + pollAgent},
		"it is not read":        {"waiting", "1s", time.Hour, false, reading},
		"it has asked for long": {"waiting", "13s", time.Second, false, 0},
		"it works":              {"working", "1s", time.Second, false, 0},
		"nothing is known":      {"unknown", "1s", time.Second, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			v, err := drawn(t.Context(), reading, beginsToAsk, func(context.Context) (api.AgentDetail, error) {
				d := api.AgentDetail{Agent: api.AgentRow{State: c.state, Since: c.since, PID: 7}}
				if time.Since(began) >= c.draws {
					d.Dialog = &api.AgentDialog{Hash: "abcd"}
				}
				return d, nil
			})
			if took := time.Since(began); err != nil || (v.Dialog != nil) != c.found || took > c.took {
				t.Errorf("%s: found %v after %s, %v", name, v.Dialog != nil, took, err)
			}
		})
	}
}
