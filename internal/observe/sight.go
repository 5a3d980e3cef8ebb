package observe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// Snapshot copies the board: what every probe last saw, in the order of
// Options.Probes, the news laid over it (Overlay), and how well each part was
// seen.
//
// A part is ok after a good look that is not too old; stale when the last good
// look is older than two turns and a deadline, or the newest look failed or saw
// only a part; unknown when nothing was ever seen, when a stale value is older
// than five turns, when the probe panicked, or when its look was left behind;
// pending until the first look, and after Touched; absent when the probe said
// so or there is none. The value of a part that is not usable is empty. A part
// that several probes share is stale, with what the others saw, when one of
// them sees nothing.
func (b *Board) Snapshot() fleet.Snapshot { return b.snapshot(nil) }

// snapshot is Snapshot, and counts of some probes a look that began after so many, whatever
// was touched since.
func (b *Board) snapshot(asked map[*entry]int) fleet.Snapshot {
	s := fleet.Snapshot{At: b.now(), From: b.from}
	sights := map[fleet.PartName][]fleet.Sight{}
	for _, e := range b.entries {
		begun, is := asked[e]
		if !is {
			begun = math.MaxInt
		}
		sight, put := e.sight(s.At, begun)
		if err := apply(put, &s); err != nil {
			sight = fleet.Sight{Status: fleet.StatusUnknown, Why: err.Error(), Probe: sight.Probe, At: sight.At}
		}
		clip(&s)
		sights[e.spec.Part] = append(sights[e.spec.Part], sight)
	}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = b.overlaid(&s, name, merge(sights[name]))
	}
	return s
}

// overlaid lays news over a part that can be used, and returns its sight.
func (b *Board) overlaid(s *fleet.Snapshot, name fleet.PartName, sight fleet.Sight) fleet.Sight {
	overlays := b.current(name)
	if !sight.Usable() {
		return sight
	}
	for _, o := range overlays {
		if err := apply(o.put, s); err != nil {
			return fleet.Sight{Status: fleet.StatusUnknown, Why: err.Error(), Probe: sight.Probe, At: sight.At}
		}
		clip(s)
	}
	return sight
}

// apply runs a Put, which is foreign code, so that its panic blinds one part only.
func apply(put Put, s *fleet.Snapshot) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot use what was seen: %s", fleet.Line(fmt.Sprint(r), 300))
		}
	}()
	if put != nil {
		put(s)
	}
	return nil
}

// clip keeps a Put that appends from writing into the slice of another.
func clip(s *fleet.Snapshot) {
	s.Host.Value.Mounts = slices.Clip(s.Host.Value.Mounts)
	s.Processes.Value = slices.Clip(s.Processes.Value)
	s.Sessions.Value = slices.Clip(s.Sessions.Value)
	s.Agents.Value = slices.Clip(s.Agents.Value)
	s.Repos.Value.Repos = slices.Clip(s.Repos.Value.Repos)
	s.Repos.Value.Worktrees = slices.Clip(s.Repos.Value.Worktrees)
	s.Locks.Value = slices.Clip(s.Locks.Value)
	s.Phases.Value = slices.Clip(s.Phases.Value)
	s.Logs.Value = slices.Clip(s.Logs.Value)
	s.Vaults.Value = slices.Clip(s.Vaults.Value)
	s.Extra.Value = slices.Clip(s.Extra.Value)
}

// sight judges how well the probe sees, and returns the Put that may be used.
func (e *entry) sight(now fleet.Instant, begun int) (fleet.Sight, Put) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := fleet.Sight{Probe: e.spec.Name, At: e.putAt, Took: fleet.Duration(e.took), Hung: e.hung}
	s.Status, s.Why = e.status(now, e.goodOf > begun)
	switch {
	case s.Fresh():
	case e.since.IsZero(): // it went well, but too long ago
		s.Blind = fleet.Duration(now.Since(e.putAt.Add(e.fresh())))
	default:
		s.Blind = fleet.Duration(now.Since(e.since))
	}
	if !s.Usable() {
		return s, nil
	}
	s.Cut = e.cut
	return s, e.put
}

// status says how well it sees; late: what was touched since the newest look that went well
// is no matter.
func (e *entry) status(now fleet.Instant, late bool) (fleet.Status, string) {
	age := now.Since(e.putAt)
	switch {
	case e.isLeft():
		return fleet.StatusUnknown, fmt.Sprintf("the look begun %s ago has not ended (deadline %s)",
			now.Since(e.running.began).Round(time.Second), e.spec.Deadline)
	case e.have < e.want && e.have == 0 && !late:
		return fleet.StatusPending, "not looked yet"
	case e.have < e.want && !late:
		return fleet.StatusPending, "changed since it was last looked at"
	case e.last == crashed:
		return fleet.StatusUnknown, e.why
	case e.putOf < e.want && !late, e.put == nil && (e.last != absent || age > e.fresh()):
		return fleet.StatusUnknown, e.old(age)
	case age > e.useful():
		return fleet.StatusUnknown, e.old(age)
	case age > e.fresh() || e.last == failed || e.last == partial:
		return fleet.StatusStale, e.old(age)
	case e.last == absent:
		return fleet.StatusAbsent, e.why
	}
	return fleet.StatusOK, ""
}

// old says why a value is not fresh.
func (e *entry) old(age time.Duration) string {
	if e.why != "" {
		return e.why
	}
	return fmt.Sprintf("last seen %s ago", age.Round(time.Second))
}

// fresh is how old what was seen may be and still pass for now: one look may be
// missed, and the next one may take its time.
func (e *entry) fresh() time.Duration { return 2*e.spec.Every + e.spec.Deadline }

// useful is how old it may be and still be shown.
func (e *entry) useful() time.Duration { return max(5*e.spec.Every, e.fresh()) }

// merge judges a part by the probes that fill it.
func merge(sights []fleet.Sight) fleet.Sight {
	switch len(sights) {
	case 0:
		return fleet.Sight{Status: fleet.StatusAbsent, Why: "no probe configured"}
	case 1:
		return sights[0]
	}
	out := fleet.Sight{Status: together(sights)}
	var probes, whys, cuts []string
	for _, s := range sights {
		probes = append(probes, s.Probe)
		if out.At.IsZero() || !s.At.IsZero() && s.At.Before(out.At) {
			out.At = s.At // the oldest: no part of it is older than this
		}
		out.Blind, out.Took, out.Hung = max(out.Blind, s.Blind), max(out.Took, s.Took), out.Hung || s.Hung
		if s.Status != fleet.StatusOK && s.Why != "" && (out.Status != fleet.StatusOK || s.Status != fleet.StatusAbsent) {
			whys = append(whys, s.Probe+": "+s.Why)
		}
		if s.Cut != "" {
			cuts = append(cuts, s.Probe+": "+s.Cut)
		}
	}
	out.Cut = strings.Join(cuts, "; ")
	out.Probe, out.Why = strings.Join(probes, ", "), strings.Join(whys, "; ")
	return out
}

// together is the status of several: that of all when they agree, pending while
// one is, and stale when some are seen and others are not. Who is absent does
// not count.
func together(sights []fleet.Sight) fleet.Status {
	seen := map[fleet.Status]int{}
	for _, s := range sights {
		seen[s.Status]++
	}
	switch {
	case seen[fleet.StatusPending] > 0:
		return fleet.StatusPending
	case seen[sights[0].Status] == len(sights):
		return sights[0].Status
	case seen[fleet.StatusStale]+seen[fleet.StatusUnknown] == 0:
		return fleet.StatusOK // the rest is absent
	case seen[fleet.StatusOK]+seen[fleet.StatusStale] == 0:
		return fleet.StatusUnknown // the rest is absent
	}
	return fleet.StatusStale
}
