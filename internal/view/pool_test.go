package view

import (
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestAPoolOfSeveralHosts: of each other host it is said how many workers it has, or had when it was heard last.
func TestAPoolOfSeveralHosts(t *testing.T) {
	host := func(name string, silent fleet.Leaf[fleet.Duration]) fleet.Elsewhere {
		return fleet.Elsewhere{Host: name, Silent: silent, Workers: []fleet.PoolWorkers{{Pool: "dev", Present: 2}}}
	}
	p := &fleet.Pass{Policy: fleet.Policy{Pools: []fleet.Pool{{Name: "dev", Role: "dev", Max: 3, Hosts: fleet.HostsOne, LostAfter: fleet.Duration(time.Hour)}}}}
	p.Snapshot.Hub.Value = fleet.Hub{Host: "box1", Elsewhere: []fleet.Elsewhere{host("a", fleet.Known(fleet.Duration(0))), host("b", fleet.Known(fleet.Duration(time.Minute))),
		host("c", fleet.Known(fleet.Duration(time.Hour))), host("d", fleet.Unknown[fleet.Duration]("it was not heard yet"))}}
	want := []string{"Pool dev: 0 to 3 workers of role dev; on all hosts; this one has 0",
		"Host a has, or is about to start, 2.",
		"Host b had, or was about to start, 2, which count on; it has told nothing for 1m0s.",
		"Host c had, or was about to start, 2; it has told nothing for 1h0m0s, and they are given up.",
		"Host d had, or was about to start, 2; whether it is there is not known: it was not heard yet."}
	if got := factsOfPass(p, fleet.Subject{Kind: fleet.KindPool, Name: "dev"}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p.Snapshot.Hub.Sight = fleet.Sight{Status: fleet.StatusOK}
	for says, l := range map[string]fleet.Lease{"This host starts its workers for all.": {Mine: true, Holder: "box1"}, "Host b starts its workers for all.": {Holder: "b"}, want[1]: {}} {
		l.Key = "pool/dev"
		p.Snapshot.Hub.Value.Leases = []fleet.Lease{l}
		if got := factsOfPass(p, fleet.Subject{Kind: fleet.KindPool, Name: "dev"}); got[1] != says {
			t.Errorf("%q, want %q", got[1], says)
		}
	}
}
