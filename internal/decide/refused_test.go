package decide

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// refuses plays a day of passes, one every ten seconds, in which each action that is
// planned comes to the same at the instant of acting, and returns how often one was.
func refuses(t *testing.T, w *world, status fleet.ResultStatus) (times int) {
	t.Helper()
	begin := w.snap.At
	for after := time.Duration(0); after < 24*time.Hour; after += 10 * time.Second {
		w.snap.At = begin.Add(after)
		for _, name := range fleet.PartNames() {
			w.snap.Sight(name).At = w.snap.At
		}
		plan := Decide(w.policy, w.snap, w.found, w.past)
		for i := range plan.Orders {
			w.past.Orders[0] = plan.Orders[i]
		}
		for _, a := range plan.Actions {
			times++
			r := fleet.Result{ActionID: a.ID, Do: a.Do, Status: status, Why: "another is at it", Ended: w.snap.At}
			w.past.Actions = append(w.past.Actions, fleet.ActionRecord{Action: a, Stage: fleet.StageEnded, Result: &r})
			if a.Order != "" {
				w.past.Orders[0] = w.past.Orders[0].After(r)
			}
		}
	}
	return times
}

// TestWhatIsRefusedAgainAndAgainIsTriedEverMoreSeldom: a refusal at the instant of acting
// that does not last is tried again, twice as long after it each time, up to an hour; a
// person's order is at an end after its hour.
func TestWhatIsRefusedAgainAndAgainIsTriedEverMoreSeldom(t *testing.T) {
	for name, c := range map[string]struct {
		status      fleet.ResultStatus
		most, least int
		lines       []string
	}{
		"a rule's wish":       {fleet.ResultRefused, 40, 20, []string{"rule lock-dead mode=auto", "finding lock-dead lock//tmp/a.lock", "wish remove-lock lock//tmp/a.lock"}},
		"a rule's, unneeded":  {fleet.ResultUnneeded, 40, 20, []string{"rule lock-dead mode=auto", "finding lock-dead lock//tmp/a.lock", "wish remove-lock lock//tmp/a.lock"}},
		"its own cooldown":    {fleet.ResultRefused, 14, 2, []string{"rule lock-dead mode=auto cooldown=2h", "finding lock-dead lock//tmp/a.lock", "wish remove-lock lock//tmp/a.lock"}},
		"a spawn by a person": {fleet.ResultRefused, 15, 8, []string{"order o1 spawn b by=ann"}},
		"a spawn by an agent": {fleet.ResultRefused, 15, 8, []string{"reg a owner=custos", "agent a owner=custos", "order o1 spawn b by=agent/a"}},
		"a backup for a day":  {fleet.ResultRefused, 45, 20, []string{"reg a owner=custos", "agent a owner=custos", "order o1 backup a by=@custos"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			for _, line := range c.lines {
				if err := w.read(line); err != nil {
					t.Fatal(err)
				}
			}
			for i := range w.past.Orders {
				o := &w.past.Orders[i]
				if o.Do == fleet.OrderSpawn {
					o.Spawn = &fleet.Registration{Name: o.Agent, Kind: "claude"}
				} else {
					o.Expires = w.snap.At.Add(24 * time.Hour)
				}
			}
			if n := refuses(t, w, c.status); n > c.most || n < c.least {
				t.Errorf("it was tried %d times, want %d to %d; %s", n, c.least, c.most, fmt.Sprint(w.past.Orders))
			}
		})
	}
}
