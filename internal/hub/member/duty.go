package member

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/hub/looks"
	"custos/internal/hub/rows"
	"custos/internal/lease"
)

// lookAfter wants to be the host that looks after the others, and watches what they tell while it holds a lease for
// which it has to know it.
func (k *link) lookAfter(ctx context.Context) {
	hosts, pools := duty{board: k.board, filters: []string{rows.Heads}}, duty{board: k.pools, filters: looks.OfWorkers()}
	defer hosts.set(ctx, false)
	defer pools.set(ctx, false)
	for ctx.Err() == nil {
		k.m.Want(keyWatch)
		all := k.standings()
		hosts.set(ctx, holds(all, keyWatch))
		pools.set(ctx, holds(all, fleet.PoolKey("")))
		late := time.NewTimer(k.m.o.TTL) // a lease that nothing wants is given back after four
		select {
		case <-ctx.Done():
		case <-k.m.stands:
		case <-late.C:
		}
		late.Stop()
	}
}

func (k *link) standings() []lease.Standing {
	l, _, _ := k.m.now()
	if l == nil {
		return nil
	}
	all, _ := l.All()
	return all
}

// holds says whether this host holds a lease of all that begins so.
func holds(all []lease.Standing, prefix string) bool {
	return slices.ContainsFunc(all, func(s lease.Standing) bool { return s.Mine && strings.HasPrefix(s.Key, prefix) })
}

// duty is a watch of a board for as long as it is needed.
type duty struct {
	board   *rows.Board
	filters []string
	stop    func() // nil while it is not watched
}

func (d *duty) set(ctx context.Context, on bool) {
	switch {
	case on && d.stop == nil:
		within, cancel := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { d.board.Watch(within, d.filters...) })
		d.stop = func() { cancel(); watch.Wait() }
	case !on && d.stop != nil:
		d.stop()
		d.stop = nil
	}
}

// elsewhere is what the other hosts have for pools.
func (k *link) elsewhere() (out []fleet.Elsewhere) {
	seen, why := k.pools.Snapshot(), ""
	switch {
	case !k.isTold():
		why = "the hub has not told yet which there are"
	case seen.Blind != "":
		why = fleet.Line(seen.Blind, 200)
	case !seen.Whole:
		why = "what they have is being read"
	}
	if why != "" {
		return []fleet.Elsewhere{{Silent: fleet.Unknown[fleet.Duration](why), Why: why}}
	}
	for _, name := range k.names() {
		out = append(out, has(name, seen))
	}
	return out
}

// has is what one host has for pools. One that was never heard has been silent for as long as it was listened to.
func has(name string, seen rows.Snapshot) fleet.Elsewhere {
	i := slices.IndexFunc(seen.Hosts, func(h rows.Host) bool { return h.Name == name && h.Run != "" })
	if i < 0 {
		return fleet.Elsewhere{Host: name, Silent: fleet.Known(fleet.Duration(seen.For)), Why: "it was never heard"}
	}
	h := seen.Hosts[i]
	out := fleet.Elsewhere{Host: name, Silent: peer(h).Silent}
	if out.Workers, out.Why = looks.Workers(h); h.Doubled {
		out.Why = "two daemons tell under its name"
	}
	return out
}

// told is what the hub is known to have of this host's own workers.
func (k *link) told() []fleet.PoolWorkers {
	out, _ := looks.Workers(rows.Host{Rows: k.rows.Told()}) // of none there are none
	return out
}
