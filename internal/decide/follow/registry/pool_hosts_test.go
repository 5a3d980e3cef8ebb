package registry

import (
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
		if slices.Equal(me.told, me.set) {
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
