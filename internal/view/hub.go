package view

import (
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Hub is how a host stands with others, by its name there; names are those of the others, of which
// this one may not look after any.
func Hub(host string, p fleet.Part[fleet.Hub], names []string, remote string) api.Hub {
	out := api.Hub{Host: host, Status: string(p.Status), Why: p.Why, Looks: p.Value.Watches, Remote: remote, Doubled: p.Value.Doubled,
		Hosts: []api.HubHost{}, Leases: []api.HubLease{}, Next: []api.Hint{}}
	for _, name := range names {
		h := api.HubHost{Name: name, State: "unknown"}
		if i := slices.IndexFunc(p.Value.Peers, func(x fleet.Peer) bool { return x.Name == name }); i >= 0 {
			h = hubHost(p.Value.Peers[i])
		} else if name == p.Value.Watches {
			h.State = "tells" // or it would not hold the lease
		}
		out.Hosts = append(out.Hosts, h)
	}
	for _, n := range p.Value.Nodes {
		out.Nodes = append(out.Nodes, api.HubNode{Name: n.Name, State: n.State})
	}
	for _, l := range p.Value.Leases {
		out.Leases = append(out.Leases, hubLease(l))
	}
	if len(names) > 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos ps", What: "the agents of all hosts"})
	}
	return out
}

// Offers is what a host has for agents that anybody wants to start. Where its agents are not seen it has
// no room that is known.
func Offers(p *fleet.Pass, labels []string, acts bool) api.Offers {
	out := api.Offers{Labels: labels, Acts: acts, CPUs: p.Snapshot.Host.Value.CPUs, Most: p.Policy.Agents.MaxAgents, Frozen: p.Policy.Frozen != ""}
	if !p.Snapshot.Agents.Usable() {
		out.Most = 0
	}
	for _, a := range p.Snapshot.Agents.Value {
		if a.Owner == fleet.OwnerCustos && a.Process.PID != 0 {
			out.Agents++
		}
	}
	for _, o := range p.Past.Orders {
		if o.Do == fleet.OrderSpawn && !o.IsOver() {
			out.Agents++ // it will run
		}
	}
	return out
}

func hubHost(p fleet.Peer) api.HubHost {
	h := api.HubHost{Name: p.Name, State: "unknown", Doubled: p.Doubled}
	if d, known := p.Silent.Get(); known && d == 0 {
		h.State = "tells"
	} else if known {
		h.State, h.Silent = "silent", time.Duration(p.Last.Or(d)).Truncate(time.Second).String()
	}
	return h
}

func hubLease(l fleet.Lease) api.HubLease {
	out := api.HubLease{Key: l.Key, Mine: l.Mine, Holder: l.Holder, Epoch: l.Epoch, Why: l.Why}
	if l.Mine {
		out.Left = time.Duration(l.Left).Truncate(time.Second).String()
	}
	return out
}
