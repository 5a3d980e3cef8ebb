package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger/pools"
)

const hintHub = "custos hub status"

// isShared says whether one of several hosts starts the workers of the pool. A host that shares nothing is the one.
func (s *workers) isShared() bool {
	hub := &s.snap.Hub
	return s.pool.Hosts == fleet.HostsOne && hub.Status != "" && !(hub.Usable() && hub.Value.Host == "")
}

// notOurs is why this host starts no worker of the pool: of several that have it one does, which holds the lease of
// its name. "": this one may.
func (s *workers) notOurs() string {
	hub := &s.snap.Hub
	if !s.isShared() {
		return ""
	}
	if why := cmp.Or(s.rests, s.cannot()); why != "" { // another one may
		return "one host starts its workers, and this one " + why
	}
	s.out.Leases = append(s.out.Leases, fleet.PoolKey(s.pool.Name))
	l := s.lease()
	switch {
	case !hub.Fresh():
		return "one host starts its workers, and it is not known which: " + hub.Why
	case l.Mine && l.Enough():
		return s.others.why
	case l.Why != "":
		return "one host starts its workers, and which could not be asked: " + l.Why
	}
	return "one host starts its workers, and which is being asked"
}

// holder is the other host that is known to start the workers for all; "": none is.
func (s *workers) holder() string {
	if l := s.lease(); s.isShared() && s.snap.Hub.Fresh() && !l.Mine {
		return l.Holder
	}
	return ""
}

// lease is how this host stands with the lease of the pool.
func (s *workers) lease() fleet.Lease { return s.snap.Hub.Value.LeaseOf(fleet.PoolKey(s.pool.Name)) }

// rests is why nothing is done by itself on this host.
func rests(p fleet.Policy) string {
	switch {
	case p.Frozen != "":
		return "is frozen: " + p.Frozen
	case p.Mode == fleet.ModeObserve && p.ApprovedBy == "":
		return "is in mode observe"
	}
	return ""
}

// cannot is why this host leaves the lease to others for a while: a worker that it ordered was not started in its time.
func (s *workers) cannot() string {
	for _, o := range s.past.Tried {
		if o.State == fleet.OrderExpired && o.Fence != nil && o.Fence.Key == fleet.PoolKey(s.pool.Name) {
			return fleet.Line("could not: "+o.Why, 300)
		}
	}
	return ""
}

// wasOfAnotherLease says whether an order was refused as the lease by which it was given had passed on, which is no reason
// to wait for who holds a later one.
func (s *workers) wasOfAnotherLease(id string) bool {
	return slices.ContainsFunc(s.past.Tried, func(o fleet.Order) bool {
		return o.ID == id && o.Guard == fleet.GuardLease && o.Fence != nil && o.Fence.Epoch != s.lease().Epoch
	})
}

// others are the workers of other hosts, for a host that starts them for all. Those of a host that has been silent for
// the pool's LostAfter are given up.
type others struct {
	present, free int
	silent        int           // of present: of hosts that are silent, or of which it is not known
	who           []string      // which these are
	until         fleet.Instant // when the first of them is given up; zero: never
	why           string        // why it is not known how many there are; "": it is
	limits        []met         // that they tell of
}

func (s *workers) elsewhere() (o others) {
	hub := &s.snap.Hub
	if !s.isShared() || !hub.Fresh() || !s.lease().Mine {
		return o
	}
	for _, e := range hub.Value.Elsewhere {
		o.meet(e, pools.Of(e, s.pool.Name).Limits, s.snap.At)
		silent, known := e.Silent.Get()
		left := s.pool.LostAfter - silent
		if known && s.pool.LostAfter > 0 && left <= 0 {
			continue
		}
		o.add(e, s.pool.Name)
		if at := s.snap.At.Add(time.Duration(left)); known && silent > 0 && s.pool.LostAfter > 0 && (o.until.IsZero() || at.Before(o.until)) {
			o.until = at
		}
	}
	return o
}

// add counts the workers of one host. Nobody knows whether one of a silent host takes up what waits.
func (o *others) add(e fleet.Elsewhere, pool string) {
	w := pools.Of(e, pool)
	if w.Why != "" {
		who := "other hosts have"
		if e.Host != "" {
			who = "host " + e.Host + " has"
		}
		o.why = cmp.Or(o.why, "it is not known how many of its workers "+who+": "+w.Why)
		return
	}
	o.present += w.Present
	silent, known := e.Silent.Get()
	if !known && w.Present > 0 {
		o.why = cmp.Or(o.why, fmt.Sprintf("it is not known whether host %s, which has %s of it, is there: %s", e.Host, counted(w.Present), e.Silent.Why()))
	}
	if !known || silent > 0 {
		o.silent += w.Present
		if w.Present > 0 {
			o.who = append(o.who, e.Host)
		}
		return
	}
	o.free += w.Free
}

// silent notes what would be started if the workers of silent hosts did not count.
func (s *workers) silent(present, want int, waiting fleet.Leaf[int]) {
	o := &s.others
	heard := present - o.silent
	lack := min(s.needed(heard, s.here().Free+o.free, waiting), s.pool.Max) - heard - max(0, min(want, s.pool.Max)-present)
	if o.silent == 0 || lack <= 0 {
		return
	}
	s.hold(heard, counted(heard+lack), fleet.HeldMove{Guard: fleet.GuardLease, Until: o.until, Hint: "custos alerts",
		Held: fmt.Sprintf("%d more may run where nothing is heard: %s", o.silent, strings.Join(o.who, ", "))})
}

// announced is how many workers may be started of which the other hosts know: should this one fall silent a moment
// later, none are started in their place.
func (s *workers) announced() int {
	hub := &s.snap.Hub.Value
	if len(hub.Elsewhere) == 0 {
		return s.pool.Max // there are no others, or they tell each other nothing
	}
	told := fleet.Find(hub.Told, func(w *fleet.PoolWorkers) bool { return w.Pool == s.pool.Name })
	if told == nil {
		return 0
	}
	return max(0, told.Present-s.here().Present)
}

// tell notes how many workers this host has, or is about to start, for the one that starts them.
func (s *workers) tell() {
	if !s.isShared() {
		return
	}
	w := s.here()
	w.Present += s.begins
	w.Limits = s.spent()
	switch {
	case s.past.Amnesia:
		w = fleet.PoolWorkers{Pool: s.pool.Name, Why: "what it knew is lost until a person confirms it"}
	case !s.snap.Agents.Fresh():
		w.Free = 0
	}
	s.out.Workers = append(s.out.Workers, w)
}

// unlisted are the workers that run here of pools which this host does not share, or has no section of any more: another
// host may start workers of that name for all.
func unlisted(p fleet.Pass, told []fleet.PoolWorkers) (out []fleet.PoolWorkers) {
	if p.Snapshot.Hub.Value.Host == "" {
		return nil
	}
	counts := map[string]int{}
	for _, r := range p.Past.Registrations {
		a := (&workers{snap: p.Snapshot}).agent(r)
		runs := a != nil && a.Process.PID != 0 || !p.Snapshot.Agents.Fresh()
		if r.Pool != "" && r.Desired != fleet.DesiredRetired && runs && !slices.ContainsFunc(told, func(w fleet.PoolWorkers) bool { return w.Pool == r.Pool }) {
			counts[r.Pool]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fleet.PoolWorkers{Pool: name, Present: counts[name]})
	}
	return out
}

// hostPart is in the name of each worker of a host that shares things, for their branches meet at the forge.
func (s *workers) hostPart() string {
	if host := s.snap.Hub.Value.Host; host != "" {
		return host + "-"
	}
	return ""
}
