package follow

import (
	"slices"

	"custos/internal/decide/follow/crew"
	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Follow returns the plan of a pass with all that follows by itself: what becomes of
// orders, registrations, runs, and of the records of coordination. Each mover sees
// what those before it changed. All of it is committed in one transaction with the
// plan's actions, or is only shown.
func Follow(p fleet.Pass) fleet.Plan {
	var settled fleet.Follows
	settled.Registrations, p.Plan.Orders = crew.Settle(p.Past, p.Snapshot, p.Plan)
	p.Plan.Add(settled)
	for _, mover := range movers {
		p.Plan.Add(mover(p))
	}
	p.Plan.Moves = moves(p)
	return p.Plan
}

// movers say what follows, in this order.
var movers = [...]func(fleet.Pass) fleet.Follows{enlist, advanceRuns, due, coordinate, relieve, staffPools}

// enlist registers what other systems tell of.
func enlist(p fleet.Pass) (f fleet.Follows) {
	f.Registrations = crew.Enlist(p.Past, p.Snapshot, p.Plan.Registrations)
	return f
}

// due begins the runs of schedules. A run is on record before anything of it is
// begun: the next pass begins.
func due(p fleet.Pass) (f fleet.Follows) {
	f.Runs, f.Until = runs.Due(p.Policy.Runs, p.Past, p.Snapshot, p.Assessment)
	f.Wake = len(f.Runs) > 0
	return f
}

func advanceRuns(p fleet.Pass) fleet.Follows {
	return runs.Advance(p.Past, p.Snapshot, p.Policy, p.Plan)
}

func coordinate(p fleet.Pass) fleet.Follows {
	return ledger.Coordinate(p.Past, p.Snapshot, p.Assessment, p.Policy, p.Plan)
}

// relieve carries hand-offs on.
func relieve(p fleet.Pass) fleet.Follows {
	f := crew.Relieve(p.Past, p.Snapshot, p.Policy, p.Plan, p.Plan.Registrations)
	f.Wake = len(f.Given) > 0
	return f
}

// staffPools starts and ends workers. A registration that the pass changes already is
// left to the next one: two changes are not one.
func staffPools(p fleet.Pass) fleet.Follows {
	f := crew.Staff(p.Past, p.Snapshot, p.Policy, ledger.Waiting(p.Past, p.Snapshot, p.Policy.Pools))
	f.Registrations = slices.DeleteFunc(f.Registrations, func(r fleet.Registration) bool { return ledger.Registration(p.Plan.Registrations, r.Name) != nil })
	f.Wake = len(f.Given) > 0
	return f
}
