package loop

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// errand is what a pass does about the runs of formulas, and what the loop is to
// do for them once that is committed.
type errand struct {
	runs   []fleet.Run     // that schedules start, and that went on
	given  []fleet.Order   // that follow
	patrol bool            // a step awaits a patrol
	wake   bool            // the next pass has something to go on from
	until  []fleet.Instant // when there is something to do, if nothing happens before
}

// carry starts the runs that are due, and carries on those that there are. A run
// is on record before anything of it is begun: the next pass begins.
func carry(p fleet.Pass) errand {
	due, next := ledger.Due(p.Policy.Runs, p.Past, p.Snapshot, p.Assessment)
	on := ledger.Advance(p.Past, p.Snapshot, p.Policy, p.Plan)
	return errand{runs: slices.Concat(on.Runs, due), given: on.Given, patrol: on.Patrol,
		wake: on.Wake || len(due) > 0, until: []fleet.Instant{next, on.Until}}
}

// share adds what follows from the records of coordination.
func (e *errand) share(c ledger.Coordination) {
	e.given, e.until, e.wake = append(e.given, c.Given...), append(e.until, c.Until), e.wake || c.Wake
}

// follow does what a committed turn asks of the loop. A patrol is only asked for:
// the loop is never entered from within a pass.
func (l *Loop) follow(p fleet.Pass, e errand) {
	if unseen(p) {
		l.o.Board.Touched(fleet.PartRuns)
	}
	if e.wake {
		l.Wake("a run goes on")
	}
	if e.patrol {
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
