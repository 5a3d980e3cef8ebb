package runs

import (
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// mostLate is how long after its time a slot is still claimed. Claims are kept for 30 days (hub and lease/local,
// keepClaims): so no clock that is off by less than 23 days has one slot run twice.
const mostLate = 7 * 24 * time.Hour

const hintHub = "custos hub status"

// isClaimed says whether each slot of a schedule is run by one host of several. A host that shares nothing is the one.
func (d *dues) isClaimed(s *fleet.Schedule) bool {
	return s.Hosts == fleet.HostsOne && d.hub.Status != "" && !(d.hub.Usable() && d.hub.Value.Host == "")
}

// claimKey names a slot, the same on each host.
func claimKey(s *fleet.Schedule, slot fleet.Instant) string {
	return "schedule/" + s.Name + "/" + slot.Wall.UTC().Format(time.RFC3339)
}

// takeClaimed writes the run of a slot down that one host of several is to run: to be begun where this host has claimed
// it, and as one that is over where another one has. It says whether the schedule's queue is taken: so it is for the
// moment that an answer takes, and not where none has come.
func (d *dues) takeClaimed(s *fleet.Schedule, run fleet.Run) bool {
	if d.at.Since(run.Slot) > mostLate {
		d.skip(run, "it was due more than a week ago: whether another host ran it is not known any more")
		return false
	}
	key := claimKey(s, run.Slot)
	c := claimed(d.hub.Value, key)
	switch {
	case !d.hub.Fresh():
		d.waits(s, "it is not known which may: "+d.hub.Why)
		return false
	case c.Mine:
		d.add(run)
		return true
	case c.Holder != "":
		d.skip(run, runsIt(c.Holder, d.hub.Value.Host))
		return false
	}
	d.claims = append(d.claims, key)
	if c.Why != "" {
		d.waits(s, "this time could not be claimed: "+c.Why)
		return false
	}
	d.waits(s, "this time is being claimed")
	return true
}

func claimed(h fleet.Hub, key string) fleet.Claim {
	i := slices.IndexFunc(h.Claims, func(c fleet.Claim) bool { return c.Key == key })
	if i < 0 {
		return fleet.Claim{Key: key}
	}
	return h.Claims[i]
}

// runsIt is why a slot is not run here. What an earlier run of this host's own daemon claimed, and has no run of, it may
// have begun.
func runsIt(holder, me string) string {
	if holder == me {
		return "it was claimed here before Custos began anew, and may have been run: it is not run twice"
	}
	return "host " + holder + " runs it"
}

// Waits says why a schedule that is due begins nothing yet, as one of several hosts is to run it; "" where that is not so.
func Waits(s fleet.Schedule, past fleet.Past, snap fleet.Snapshot) string {
	d := newDues(fleet.RunPolicy{Schedules: []fleet.Schedule{s}}, past, snap, fleet.Assessment{})
	d.all()
	i := slices.IndexFunc(d.held, func(h fleet.HeldMove) bool { return h.Guard == fleet.GuardLease })
	if i < 0 {
		return ""
	}
	return d.held[i].Held
}

// waits tells of a slot that has come, and waits for who runs it.
func (d *dues) waits(s *fleet.Schedule, why string) {
	d.hold(s, fleet.HeldMove{Guard: fleet.GuardLease, Held: "one of several hosts runs it, and " + why, Hint: hintHub})
}

// skip writes a run down that is over, as another one stands for it.
func (d *dues) skip(run fleet.Run, why string) {
	ledger.SkipRun(&run, fleet.Line(why, 200), d.at)
	d.add(run)
}

// idleHost is why this host would begin nothing of a run that it has claimed: it leaves the slot to the others.
func idleHost(p fleet.Pass) fleet.HeldMove {
	switch {
	case p.Policy.Frozen != "":
		return fleet.HeldMove{Guard: fleet.GuardFrozen, Held: p.Policy.Frozen, Hint: "custos thaw"}
	case p.Past.Amnesia:
		return fleet.HeldMove{Guard: fleet.GuardEvidence, Held: "what was run before is forgotten until a person confirms", Hint: "custos alerts"}
	case p.Past.ClockBehind(p.Snapshot.At):
		return fleet.HeldMove{Guard: fleet.GuardEvidence, Held: "the clock is behind the newest record"}
	}
	return fleet.HeldMove{}
}
