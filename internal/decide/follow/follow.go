package follow

import (
	"custos/internal/decide/follow/registry"
	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
)

// movers say what follows, in this order.
var movers = [...]func(fleet.Pass) fleet.Follows{registry.Register, runs.Advance, runs.Begin, coordinate, registry.HandOff, registry.Pools}

// Follow returns the plan of a pass with all that follows by itself: what becomes of
// orders, registrations, runs, and of the records of coordination. Each mover sees
// what those before it changed. All of it is committed in one transaction with the
// plan's actions, or is only shown.
func Follow(p fleet.Pass) fleet.Plan {
	var settled fleet.Follows
	settled.Registrations, p.Plan.Orders = registry.Settle(p.Past, p.Snapshot, p.Plan)
	p.Plan.Add(settled)
	for _, mover := range movers {
		p.Plan.Add(mover(p))
	}
	p.Plan.Moves = moves(p)
	return p.Plan
}
