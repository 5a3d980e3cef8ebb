// Package pools tells of the pools whose workers several hosts have what is known of all of them together.
package pools

import (
	"cmp"
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// All are the pools of which this host starts the workers of all, each with those that live, of this host and
// of the others that are heard: what is not known of one of these is not known of the pool.
func All(past fleet.Past, snap fleet.Snapshot, pools []fleet.Pool) (out []fleet.PoolFacts) {
	for _, p := range pools {
		if p.Hosts == fleet.HostsOne && snap.Hub.Fresh() && snap.Hub.Value.LeaseOf(fleet.PoolKey(p.Name)).Mine {
			f := fleet.PoolFacts{Name: p.Name, Most: p.Max, Asks: p.OnReturn == fleet.ReturnAsk}
			f.Present, f.Where = onAllHosts(past, snap, p.Name)
			out = append(out, f)
		}
	}
	return out
}

// onAllHosts is how many workers of a pool live, and how many of them on which host.
func onAllHosts(past fleet.Past, snap fleet.Snapshot, pool string) (fleet.Leaf[int], string) {
	if !snap.Agents.Fresh() {
		return fleet.Unknown[int]("agents is " + string(snap.Agents.Status)), ""
	}
	n := workersHere(past, snap, pool)
	where := []string{fmt.Sprint(snap.Hub.Value.Host, " ", n)}
	for _, e := range snap.Hub.Value.Elsewhere {
		w := Of(e, pool)
		switch silent, known := e.Silent.Get(); {
		case known && silent > 0:
			continue
		case w.Why != "" || !known:
			return fleet.Unknown[int](cmp.Or(e.Host, "other hosts") + ": " + cmp.Or(w.Why, "it is not known whether it is heard")), ""
		case w.Present > 0:
			n += w.Present
			where = append(where, fmt.Sprint(e.Host, " ", w.Present))
		}
	}
	return fleet.Known(n), fleet.Line(strings.Join(where, ", "), 200)
}

// workersHere counts the workers of a pool that live on this host.
func workersHere(past fleet.Past, snap fleet.Snapshot, pool string) (n int) {
	for _, r := range past.Registrations {
		if r.Pool == pool && fleet.Find(snap.Agents.Value, func(a *fleet.Agent) bool { return a.Name == r.Name && a.Instance == r.Instance && a.Process.PID != 0 }) != nil {
			n++
		}
	}
	return n
}

// Of are the workers of another host of a pool; where it is not known which it has, Why says so.
func Of(e fleet.Elsewhere, pool string) fleet.PoolWorkers {
	if e.Why != "" {
		return fleet.PoolWorkers{Pool: pool, Why: e.Why}
	}
	if w := fleet.Find(e.Workers, func(w *fleet.PoolWorkers) bool { return w.Pool == pool }); w != nil {
		return *w
	}
	return fleet.PoolWorkers{Pool: pool}
}
