package decide

import (
	"testing"

	"custos/internal/fleet"
)

// What Custos hands out is configured, as runs are: it is asked for in any mode, and not charged to the fleet's budget. What
// an agent slings is that agent's wish, and a person's sling a person's word.
func TestHandingOutIsConfigured(t *testing.T) {
	for _, c := range []struct {
		id, by string
		want   bool
	}{{"sling-w1-2", fleet.ByCustos, true}, {"relieve-builder-w1-261129-0200", fleet.ByCustos, true}, {"sling-w1-2", "agent/lead", false},
		{"sling-w1-2", "ann", false}, {"pool-x-1", fleet.ByCustos, false}} {
		r := &request{order: &fleet.Order{ID: c.id, By: c.by}, wish: &fleet.Wish{Do: "spawn"}}
		if r.isConfigured() != c.want {
			t.Errorf("%s by %s: configured %v", c.id, c.by, !c.want)
		}
		a := &fleet.Action{Do: "spawn", Order: c.id, By: c.by}
		if charged := isCharged(a); charged != (!c.want && c.by != "ann") {
			t.Errorf("%s by %s: charged %v", c.id, c.by, charged)
		}
	}
}

// One that was started for a piece of work alone may be stopped once its turn has been over for a while, though it moved
// lately; not one that works, that a person looks at, or that somebody started for itself.
func TestDispatchedIsStoppedAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		dispatched bool
		state      fleet.AgentState
		attached   int
		may        bool
	}{"at rest": {true, fleet.StateIdle, 0, true}, "of a person": {false, fleet.StateIdle, 0, false}, "at work": {true, fleet.StateWorking, 0, false}, "looked at": {true, fleet.StateIdle, 1, false}} {
		a := &fleet.Agent{Name: "b", State: c.state, Process: fleet.ProcessID{PID: 7}, Progress: fleet.ProgressSome, Attached: c.attached, Dwell: fleet.Known(fleet.Duration(60e9)), ComposerEmpty: fleet.Known(true)}
		r := &request{wish: &fleet.Wish{Do: doStop, Target: fleet.Target{Agent: a}}, reg: &fleet.Registration{Name: "b", Dispatched: c.dispatched}}
		if no := askAlive(&pass{snap: &fleet.Snapshot{}}, r); (no == nil) != c.may {
			t.Errorf("%s: %+v", name, no)
		}
	}
}
