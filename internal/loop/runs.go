package loop

import (
	"slices"

	"custos/internal/fleet"
)

// follow does what a committed turn asks of the loop. A patrol is only asked for:
// the loop is never entered from within a pass.
func (l *Loop) follow(p fleet.Pass) {
	if unseen(p) {
		l.o.Board.Touched(fleet.PartRuns)
	}
	if enlisted(p) {
		l.o.Board.Touched(fleet.PartAgents)
	}
	if p.Plan.Wake {
		l.Wake("what follows")
	}
	if p.Plan.Patrol {
		select {
		case l.wanted <- struct{}{}:
		default:
		}
	}
}

// unseen says whether something of a run may begin since the runs were last looked
// at, and was not looked for. A later look that leaves it out is no reason for
// another.
func unseen(p fleet.Pass) bool {
	look := p.Snapshot.Runs
	return look.Fresh() && slices.ContainsFunc(p.Past.Runs, func(r fleet.Run) bool {
		i := slices.IndexFunc(look.Value, func(f fleet.RunFacts) bool { return f.ID == r.ID })
		switch {
		case r.IsOver():
			return false
		case i < 0:
			return !r.At.Before(look.At)
		}
		return slices.ContainsFunc(r.Steps, func(s fleet.RunStep) bool {
			return s.State == fleet.StepReady && !s.Since.Before(look.At) && !isSeen(look.Value[i], s.ID, s.Attempt+1)
		})
	})
}

func isSeen(f fleet.RunFacts, step string, attempt int) bool {
	return slices.ContainsFunc(f.Steps, func(s fleet.StepFacts) bool { return s.Step == step && s.Attempt == attempt })
}

// enlisted says whether the turn registers agents that were seen as strangers: they
// are looked at again, or each would be one until the next look by the clock.
func enlisted(p fleet.Pass) bool {
	return slices.ContainsFunc(p.Snapshot.Agents.Value, func(a fleet.Agent) bool {
		return !a.Registered && slices.ContainsFunc(p.Plan.Registrations, func(r fleet.Registration) bool { return r.Process == a.Process })
	})
}
