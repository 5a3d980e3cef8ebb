package registry

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// allNeeded is how many workers a pool would have that cannot count its work.
const allNeeded = "as many workers as there is work"

// hintLook is where it is shown what is not seen.
const hintLook = "custos preflight"

// hold notes that a pool would have more workers, and what holds that back.
func (s *workers) hold(present int, to string, held fleet.HeldMove) {
	held.Move = fleet.Move{Record: poolSubject(s.pool), From: counted(present), To: to, Why: s.pool.Role}
	s.out.Hold(held)
}

func poolSubject(p fleet.Pool) fleet.Subject {
	return fleet.Subject{Kind: fleet.KindPool, Name: p.Name}
}

func counted(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}

// isDormant says whether nothing is worked on in the project of a pool: what waits there
// is not counted.
func (s *workers) isDormant() bool {
	return s.snap.Forge.Fresh() && slices.ContainsFunc(s.snap.Forge.Value.Projects, func(p fleet.Project) bool {
		return p.Name == s.pool.Project && !p.Active.Or(true)
	})
}

// switchedOff reports a pool that would start workers, were it not disabled.
func (s *workers) switchedOff(waiting fleet.Leaf[int]) {
	if present, want := s.wanted(waiting); min(want, s.pool.Max) > present {
		s.hold(present, counted(min(want, s.pool.Max)), fleet.HeldMove{Guard: fleet.GuardPerson, Held: "its section says enabled = false"})
	}
}

// isTried says whether an order was given in these ten minutes and came to nothing, and says
// until when none is given in its place.
func (s *workers) isTried(id string, present, want int) bool {
	i := slices.IndexFunc(s.past.Tried, func(o fleet.Order) bool { return o.ID == id && o.State != fleet.OrderDone })
	if i < 0 {
		return false
	}
	now := s.snap.At.Wall.UTC()
	s.hold(present, counted(want), fleet.HeldMove{Guard: fleet.GuardCooldown, Held: fleet.Line("order "+id+" came to nothing: "+s.past.Tried[i].Why, 300),
		Until: s.snap.At.Add(now.Truncate(stamped).Add(stamped).Sub(now))})
	return true
}

// unseen says of all pools that nothing is started or ended while it is not known who
// is there.
func unseen(p fleet.Pass) (list []fleet.HeldMove) {
	held := fleet.HeldMove{Guard: fleet.GuardEvidence, Held: "agents is " + string(p.Snapshot.Agents.Status), Hint: hintLook}
	if p.Past.Amnesia {
		held.Held, held.Hint = "what was known is lost until a person confirms it", "custos alerts"
	}
	for _, pool := range p.Policy.Pools {
		if !pool.Disabled {
			held.Move = fleet.Move{Record: poolSubject(pool), To: allNeeded, Why: pool.Role}
			list = append(list, held)
		}
	}
	return list
}
