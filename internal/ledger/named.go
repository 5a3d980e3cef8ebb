package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// Named is the work of other trackers that records name: what somebody waits for,
// what convoys have, and what a merge closes. A tracker must be asked for it when it lists it no more.
func Named(all fleet.Records) (out []fleet.Ref) {
	add := func(r fleet.Ref) {
		if t := r.Tracker(); t != fleet.TrackerOwn && t != fleet.TrackerUnknown {
			out = append(out, r)
		}
	}
	for _, d := range all.Dependencies {
		if d.State != fleet.DependencyDropped {
			add(d.Of)
			add(d.Needs)
		}
	}
	for _, v := range all.Convoys {
		for _, m := range v.Members {
			if v.State != fleet.ConvoyClosed {
				add(m.Ref)
			}
		}
	}
	for _, g := range all.Gates {
		if g.State == fleet.GateOpen && g.Of != "" {
			add(g.Of)
		}
	}
	for i := range all.Merges {
		if m := &all.Merges[i]; m.State != fleet.MergeWithdrawn {
			for _, r := range unsettled(m) {
				add(r)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
