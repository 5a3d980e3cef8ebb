package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// Waiting counts the work of each project that may be taken up and that nobody has,
// in every tracker: what pools start workers for. A project that is not seen well is
// left out.
func Waiting(past fleet.Past, snap fleet.Snapshot, pools []fleet.Pool) map[string]fleet.Leaf[int] {
	out := map[string]fleet.Leaf[int]{}
	if !snap.Forge.Fresh() {
		return out
	}
	for _, p := range snap.Forge.Value.Projects {
		if p.Ready.IsKnown() && p.Active.Or(false) {
			out[p.Name] = fleet.Known(0)
		}
	}
	for _, i := range snap.Forge.Value.Issues {
		if n, counted := out[i.Project]; counted && i.Agent == "" && i.Ready.Or(false) {
			out[i.Project] = fleet.Known(n.Or(0) + 1)
		}
	}
	addOwn(out, snap, pools)
	addBeads(out, past, snap, pools)
	return out
}

// addBeads adds the beads of projects of which it is known what waits else.
func addBeads(out map[string]fleet.Leaf[int], past fleet.Past, snap fleet.Snapshot, pools []fleet.Pool) {
	if !snap.Coordination.Fresh() || !snap.Beads.Fresh() {
		return
	}
	var free []fleet.Bead
	for _, b := range snap.Beads.Value {
		if _, counted := out[b.Project]; counted && b.State == fleet.WorkOpen && slices.ContainsFunc(pools, func(p fleet.Pool) bool { return p.Project == b.Project }) {
			free = append(free, b)
		}
	}
	if len(free) == 0 {
		return
	}
	s := newFacts(past, snap).sorted()
	for _, b := range free {
		if r := fleet.BeadRef(b.ID); s.item(r, s.f.trackers.Seen(r)).Ready.Or(false) {
			out[b.Project] = fleet.Known(out[b.Project].Or(0) + 1)
		}
	}
}

// addOwn adds the work of the ledger. A project that is on a forge which tells
// nothing certain of it stays left out; one that is on none has that work alone.
func addOwn(out map[string]fleet.Leaf[int], snap fleet.Snapshot, pools []fleet.Pool) {
	if !snap.Coordination.Fresh() {
		return
	}
	for _, p := range pools {
		onForge := slices.ContainsFunc(snap.Forge.Value.Projects, func(x fleet.Project) bool { return x.Name == p.Project })
		if _, counted := out[p.Project]; !counted && !onForge {
			out[p.Project] = fleet.Known(0)
		}
	}
	for _, w := range snap.Coordination.Value.Work {
		if n, counted := out[w.Project]; counted && w.Tracker == fleet.TrackerOwn && w.Ready.Or(false) {
			out[w.Project] = fleet.Known(n.Or(0) + 1)
		}
	}
}
