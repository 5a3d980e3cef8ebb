package pools

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestAll(t *testing.T) {
	ok := fleet.Sight{Status: fleet.StatusOK}
	host := func(name string, silent time.Duration, n int) fleet.Elsewhere {
		return fleet.Elsewhere{Host: name, Silent: fleet.Known(fleet.Duration(silent)), Workers: []fleet.PoolWorkers{{Pool: "dev", Present: n}, {Pool: "other", Present: 50}}}
	}
	past := fleet.Past{Registrations: []fleet.Registration{{Name: "dev-1", Instance: "i1", Pool: "dev"}, {Name: "dev-2", Instance: "i2", Pool: "dev"}, {Name: "x", Instance: "i3", Pool: "other"}}}
	agents := []fleet.Agent{{Name: "dev-1", Instance: "i1", Process: fleet.ProcessID{PID: 1}}, {Name: "dev-2", Instance: "i2"}, {Name: "x", Instance: "i3", Process: fleet.ProcessID{PID: 3}},
		{Name: "dev-1", Instance: "i0", Process: fleet.ProcessID{PID: 4}}}
	lost := host("box3", 0, 0)
	lost.Workers[0].Why = "what it knew is lost"
	for name, c := range map[string]struct {
		elsewhere []fleet.Elsewhere
		agents    fleet.Status
		present   fleet.Leaf[int]
		where     string
	}{
		"alone":         {nil, fleet.StatusOK, fleet.Known(1), "box1 1"},
		"two more":      {[]fleet.Elsewhere{host("box2", 0, 2), host("box3", 0, 3)}, fleet.StatusOK, fleet.Known(6), "box1 1, box2 2, box3 3"},
		"one silent":    {[]fleet.Elsewhere{host("box2", time.Second, 2), host("box3", 0, 3)}, fleet.StatusOK, fleet.Known(4), "box1 1, box3 3"},
		"never heard":   {[]fleet.Elsewhere{{Host: "box2", Silent: fleet.Known(fleet.Duration(time.Hour)), Why: "it was never heard"}}, fleet.StatusOK, fleet.Known(1), "box1 1"},
		"lost":          {[]fleet.Elsewhere{lost}, fleet.StatusOK, fleet.Unknown[int]("box3: what it knew is lost"), ""},
		"silent or not": {[]fleet.Elsewhere{{Host: "box2", Silent: fleet.Unknown[fleet.Duration]("x")}}, fleet.StatusOK, fleet.Unknown[int]("box2: it is not known whether it is heard"), ""},
		"not told":      {[]fleet.Elsewhere{{Silent: fleet.Unknown[fleet.Duration]("cut"), Why: "cut"}}, fleet.StatusOK, fleet.Unknown[int]("other hosts: cut"), ""},
		"not seen":      {nil, fleet.StatusStale, fleet.Unknown[int]("agents is stale"), ""},
	} {
		snap := fleet.Snapshot{Agents: fleet.Part[[]fleet.Agent]{Sight: fleet.Sight{Status: c.agents}, Value: agents},
			Hub: fleet.Part[fleet.Hub]{Sight: ok, Value: fleet.Hub{Host: "box1", Elsewhere: c.elsewhere, Leases: []fleet.Lease{{Key: "pool/dev", Mine: true}}}}}
		pools := []fleet.Pool{{Name: "dev", Max: 3, Hosts: fleet.HostsOne, OnReturn: fleet.ReturnAsk}, {Name: "other", Max: 3, Hosts: fleet.HostsOne}, {Name: "each", Max: 3}}
		got := All(past, snap, pools)
		if want := (fleet.PoolFacts{Name: "dev", Most: 3, Present: c.present, Where: c.where, Asks: true}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		snap.Hub.Sight.Status = fleet.StatusUnknown
		if got := All(past, snap, pools); got != nil {
			t.Errorf("%s, cut off: %+v", name, got)
		}
	}
}
