package registry

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// site is a host of two that share a pool.
type site struct {
	*yard
	up    bool
	set   []fleet.PoolWorkers // that it tells
	told  []fleet.PoolWorkers // that the hub has of it; nil: it was never heard
	heard bool
}

// sites are two hosts, of which one holds the lease of the pool.
type sites struct {
	list   [2]*site
	holder int
	epoch  uint64
}

// look has a host see the hub as it is: what the other one has told last, and what is known of itself there.
func (s *sites) look(i int) {
	me, other := s.list[i], s.list[1-i]
	lease := fleet.Lease{Key: "pool/dev", Holder: "other"}
	me.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: []string{"a", "b"}[i]}}
	if s.holder == i {
		lease = fleet.Lease{Key: "pool/dev", Mine: true, Epoch: s.epoch, Left: fleet.Duration(fleet.LeaseTime)}
		e := fleet.Elsewhere{Host: "other", Silent: fleet.Known(fleet.Duration(0)), Workers: other.told}
		if !other.up {
			e.Silent = fleet.Known(fleet.Duration(time.Minute))
		}
		if !other.heard {
			e.Why = "it was never heard"
		}
		me.hub.Value.Elsewhere = []fleet.Elsewhere{e}
		if reflect.DeepEqual(me.told, me.set) {
			me.hub.Value.Told = me.told
		}
	}
	me.hub.Value.Leases = []fleet.Lease{lease}
}

// step has something happen to a host.
func (s *sites) step(t *rapid.T, i int) {
	x := s.list[i]
	often := []string{"pass", "tell", "pass", "tell", "carry out", "pass", "tell", "carry out"}
	what := rapid.SampledFrom(append(often, "lease", "up or down", "work", "idle", "time")).Draw(t, "what")
	switch {
	case what == "lease":
		if n := rapid.IntRange(0, 1).Draw(t, "holder"); n != s.holder {
			s.holder = n
			s.epoch++
		}
	case what == "up or down":
		x.up = !x.up
	case what == "work":
		n := rapid.IntRange(0, 6).Draw(t, "issues")
		s.list[0].wait(n)
		s.list[1].wait(n)
	case what == "time":
		d := time.Duration(rapid.IntRange(0, 3600).Draw(t, "seconds")) * time.Second
		s.list[0].now += d
		s.list[1].now += d
	case !x.up:
	case what == "pass":
		s.look(i)
		x.set = x.pass().Workers
	case what == "tell":
		x.told, x.heard = slices.Clone(x.set), true
	case what == "idle" && len(x.regs) > 0:
		if r := rapid.SampledFrom(x.regs).Draw(t, "worker"); x.agents[r.Name].Process.PID != 0 {
			x.yard.set(r.Name, fleet.StateIdle, time.Hour)
		}
	case what == "carry out":
		x.orders = slices.DeleteFunc(x.orders, func(o fleet.Order) bool { // what guard lease refuses
			return o.Do == fleet.OrderSpawn && (s.holder != i || o.Fence.Epoch != s.epoch)
		})
		x.carryOut()
	}
}

// TestTwoHostsHaveNoMoreThanTheMost: whoever holds the lease when, whichever host is down when and whatever the other one
// has heard of it, both together never have more workers than the pool may have.
func TestTwoHostsHaveNoMoreThanTheMost(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		s := &sites{}
		for i := range s.list {
			s.list[i] = &site{yard: newYard(rapid.IntRange(0, 2).Draw(t, "min"), 3), up: true}
			s.list[i].pool.Hosts = fleet.HostsOne
			s.list[i].wait(6)
		}
		s.list[1].pool.Min = s.list[0].pool.Min
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			s.step(t, rapid.IntRange(0, 1).Draw(t, "host"))
			n := s.list[0].alive() + s.list[1].alive()
			if n > 3 {
				t.Fatalf("%d workers run, 3 are the most", n)
			}
			most = max(most, n)
		}
	})
	if most < 3 {
		t.Errorf("no more than %d workers ever ran: it shows nothing", most)
	}
}

// TestTheLeastIsHeard: workers of a silent host are none of the least that a pool has: they may be gone.
func TestTheLeastIsHeard(t *testing.T) {
	for silent, want := range map[fleet.Leaf[fleet.Duration]]int{fleet.Known(fleet.Duration(0)): 1, fleet.Known(fleet.Duration(time.Minute)): 0, fleet.Unknown[fleet.Duration]("not yet"): 0} {
		y := newYard(2, 4)
		y.pass()
		y.carryOut()
		y.now = 2 * time.Hour
		for _, r := range y.regs {
			y.set(r.Name, fleet.StateIdle, time.Hour)
		}
		y.pool.Hosts = fleet.HostsOne
		y.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1",
			Elsewhere: []fleet.Elsewhere{{Host: "box2", Silent: silent, Workers: []fleet.PoolWorkers{{Pool: "dev", Present: 2}}}},
			Leases:    []fleet.Lease{{Key: "pool/dev", Mine: true, Left: fleet.Duration(fleet.LeaseTime)}}}}
		if got := y.look().Given; len(got) != want {
			t.Errorf("while the other host is silent for %+v it ends %d, want %d: %+v", silent, len(got), want, got)
		}
	}
}

// TestAHostIsBack: where a host that was given up is back, and there are more workers than the pool may have, on_return
// says what becomes of those of the host that starts workers. One at work is ended by none.
func TestAHostIsBack(t *testing.T) {
	back := func(silent time.Duration, n int) []fleet.Elsewhere {
		return []fleet.Elsewhere{{Host: "box2", Silent: fleet.Known(fleet.Duration(silent)), Workers: []fleet.PoolWorkers{{Pool: "dev", Present: n}}}}
	}
	type states [2]struct {
		state fleet.AgentState
		dwell time.Duration
	}
	rest, soon, atWork := states{{fleet.StateIdle, 5 * time.Minute}, {fleet.StateIdle, 5 * time.Minute}}, states{{fleet.StateIdle, 59 * time.Second}, {fleet.StateIdle, 59 * time.Second}},
		states{{fleet.StateWorking, time.Hour}, {fleet.StateWorking, time.Hour}}
	long := states{{fleet.StateIdle, time.Hour}, {fleet.StateIdle, time.Hour}}
	for name, c := range map[string]struct {
		on        fleet.OnReturn
		elsewhere []fleet.Elsewhere
		states    states
		ends      string
	}{
		"keep, idle for a while":       {fleet.ReturnKeep, back(0, 2), rest, ""},
		"keep, idle for long":          {fleet.ReturnKeep, back(0, 2), long, "2"},
		"ask, idle for long":           {fleet.ReturnAsk, back(0, 2), long, ""},
		"stop_new":                     {fleet.ReturnStopNew, back(0, 2), rest, "2"},
		"stop_new, between two issues": {fleet.ReturnStopNew, back(0, 2), soon, ""},
		"stop_new, at work":            {fleet.ReturnStopNew, back(0, 2), atWork, ""},
		"stop_new, not too many":       {fleet.ReturnStopNew, back(0, 1), long, ""},
		"stop_new, the newest works":   {fleet.ReturnStopNew, back(0, 2), states{{fleet.StateIdle, time.Hour}, {fleet.StateWorking, 0}}, "1"},
		"keep, silent again":           {fleet.ReturnKeep, back(time.Minute, 2), long, ""},
		"stop_new, silent again":       {fleet.ReturnStopNew, back(time.Minute, 2), long, ""},
	} {
		y := newYard(0, 3)
		y.wait(9)
		y.pool.Hosts, y.pool.LostAfter, y.pool.OnReturn = fleet.HostsOne, fleet.Duration(time.Hour), c.on
		y.hub = fleet.Part[fleet.Hub]{Sight: fleet.Sight{Status: fleet.StatusOK}, Value: fleet.Hub{Host: "box1", Elsewhere: back(0, 1), Told: []fleet.PoolWorkers{{Pool: "dev", Present: 2}},
			Leases: []fleet.Lease{{Key: "pool/dev", Mine: true, Left: fleet.Duration(fleet.LeaseTime)}}}}
		y.pass()
		y.carryOut()
		y.now = 2 * time.Hour
		for i, s := range c.states {
			y.set(y.regs[i].Name, s.state, s.dwell)
		}
		y.hub.Value.Elsewhere = c.elsewhere
		got := ""
		for _, o := range y.look().Given {
			if o.Do != fleet.OrderStop {
				t.Errorf("%s: it orders to %s %s", name, o.Do, o.Agent)
			}
			got += o.Agent[len(o.Agent)-1:]
		}
		if len(y.regs) != 2 || got != c.ends {
			t.Errorf("%s: of %d it ends %q, want %q", name, len(y.regs), got, c.ends)
		}
	}
}
