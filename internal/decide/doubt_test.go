package decide

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// A start in doubt is not over: the next look at its agent settles it, which puts what it
// finds on record. While there is nothing, its order waits, and nothing else is started in
// its place; when its time is up, it stays in doubt for good.
func TestAStartInDoubtIsSettledByALook(t *testing.T) {
	for name, c := range map[string]struct {
		instance string // on record; "" for no record
		after    time.Duration
		state    fleet.OrderState
		says     string
	}{
		"it was not seen":          {state: fleet.OrderQueued, says: "in doubt: no answer"},
		"it is there":              {instance: "i1", state: fleet.OrderDone, says: "instance i1 was started"},
		"the one before it is":     {instance: "i0", state: fleet.OrderQueued, says: "in doubt"},
		"its time is up":           {after: 24 * time.Hour, state: fleet.OrderRefused, says: "in doubt: no answer"},
		"there, after its time":    {instance: "i1", after: 24 * time.Hour, state: fleet.OrderDone, says: "instance i1"},
		"before, and after a time": {instance: "i0", after: 24 * time.Hour, state: fleet.OrderRefused, says: "was not seen to run"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if err := w.read("order o1 spawn b by=ann"); err != nil {
				t.Fatal(err)
			}
			if c.instance != "" {
				w.past.Registrations = []fleet.Registration{{Name: "b", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, Instance: c.instance}}
			}
			r := fleet.Result{ActionID: "x1", Do: "spawn", Status: fleet.ResultInDoubt, Why: "no answer", Ended: w.snap.At.Add(-time.Second)}
			a := fleet.Action{ID: "x1", Do: "spawn", Subject: agentSubject("b"), Order: "o1", Target: fleet.Target{Registration: &fleet.Registration{Name: "b", Instance: "i0"}}}
			w.past.Actions = []fleet.ActionRecord{{Action: a, Stage: fleet.StageEnded, Result: &r}}
			w.past.Orders[0].Action = "x1"
			w.past.Orders[0] = w.past.Orders[0].After(r)
			w.past.Orders[0].At = w.snap.At.Add(-c.after)
			plan := Decide(w.policy, w.snap, w.found, w.past)
			got := w.past.Orders[0]
			for _, o := range plan.Orders {
				got = o
			}
			if got.State != c.state || !strings.Contains(got.Why, c.says) || len(plan.Actions) > 0 {
				t.Errorf("%s (%s), actions %+v", got.State, got.Why, plan.Actions)
			}
			if got.State == fleet.OrderQueued && !strings.Contains(got.Hint, "custos why agent/b") {
				t.Errorf("it does not say what to look at: %q", got.Hint)
			}
		})
	}
}
