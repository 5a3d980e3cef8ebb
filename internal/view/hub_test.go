package view

import (
	"reflect"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// TestOffers: what runs of ours and what is to be started count; where the agents are not seen there is no room.
func TestOffers(t *testing.T) {
	var p fleet.Pass
	p.Policy.Agents.MaxAgents, p.Snapshot.Host.Value.CPUs = 7, 4
	p.Snapshot.Agents.Status = fleet.StatusOK
	agent := func(owner fleet.Owner, pid int) fleet.Agent {
		return fleet.Agent{Owner: owner, Process: fleet.ProcessID{PID: pid}}
	}
	p.Snapshot.Agents.Value = []fleet.Agent{agent(fleet.OwnerCustos, 5), agent(fleet.OwnerCustos, 0), agent(fleet.OwnerForeign, 6)}
	p.Past.Orders = []fleet.Order{{Do: fleet.OrderSpawn, State: fleet.OrderQueued}, {Do: fleet.OrderSpawn, State: fleet.OrderDone}, {Do: fleet.OrderNudge, State: fleet.OrderQueued}}
	want := api.Offers{Labels: []string{"gpu"}, Acts: true, CPUs: 4, Agents: 2, Most: 7}
	if got := Offers(&p, []string{"gpu"}, true); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	p.Policy.Frozen = "ann"
	p.Snapshot.Agents.Blind("tmux hangs")
	if got := Offers(&p, nil, false); !got.Frozen || got.Most != 0 || got.Acts {
		t.Errorf("%+v", got)
	}
}

// TestSinceWhenAHostIsSilent: what is told is when it was heard last, however short a time this host has listened.
func TestSinceWhenAHostIsSilent(t *testing.T) {
	p := fleet.Peer{Name: "b", Silent: fleet.Known(fleet.Duration(time.Minute)), Last: fleet.Known(fleet.Duration(3 * time.Hour))}
	if h := hubHost(p); h.State != "silent" || h.Silent != "3h0m0s" {
		t.Errorf("%+v", h)
	}
	if got := peerFacts(p); got[0] != "another host of the hub: it tells nothing for 3h0m0s" {
		t.Errorf("%q", got)
	}
}
