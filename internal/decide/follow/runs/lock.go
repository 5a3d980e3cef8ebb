package runs

import (
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// doHoldLock is what decide calls the action that takes a factory's own lock.
const doHoldLock = "hold-lock"

// followLock notes who takes the lock of a run, and that it is given back.
func (a *advance) followLock(r *fleet.Run) {
	if r.Lock == "" {
		return
	}
	for i := range a.plan.Actions {
		if do := &a.plan.Actions[i]; do.Do == doHoldLock && do.Target.Step != nil && do.Target.Step.Run.ID == r.ID {
			r.Holding = do.ID
			return
		}
	}
	if r.IsOver() && r.Holding != "" && a.isGivenBack(r) {
		r.Holding = ""
	}
}

// isGivenBack says whether it was seen that no lock of this run is there, after the
// last action that may have placed one.
func (a *advance) isGivenBack(r *fleet.Run) bool {
	facts := a.facts[r.ID]
	if facts == nil || a.lockMayCome(r) {
		return false
	}
	held, known := facts.Held.Get()
	return known && held == ""
}

// lockMayCome says whether what was seen is older than the end of the action that
// takes the lock.
func (a *advance) lockMayCome(r *fleet.Run) bool {
	rec := a.records[r.Holding]
	return rec != nil && (rec.Open() || rec.Result != nil && a.snap.Runs.At.Before(rec.Result.Ended))
}

// awaitsLock says whether a run that may begin does not hold its lock yet. Where locks
// cannot be taken, because their pids would mean nothing there, it begins without.
func (a *advance) awaitsLock(r *fleet.Run, facts *fleet.RunFacts) bool {
	held, known := facts.Held.Get()
	if known && held == fleet.HoldOurs || a.policy.Abilities[doHoldLock].Cannot != "" {
		return false
	}
	rec := a.records[r.Holding]
	switch {
	case !known:
		a.unlocked(r, fleet.GuardEvidence, "it is not known whether its lock is held: "+facts.Held.Why())
	case a.lockMayCome(r):
		a.unlocked(r, fleet.GuardInFlight, "its lock is being taken")
	case rec != nil && rec.Result != nil && (rec.Result.Status == fleet.ResultFailed || rec.Result.Status == fleet.ResultRefused):
		ledger.SkipRun(r, "its lock could not be taken: "+fleet.Line(rec.Result.Why, 200), a.at)
	default:
		a.unlocked(r, fleet.GuardInFlight, "its lock is not taken yet")
	}
	return true
}

// lostLock tells that somebody else holds the lock of a run that goes on: it was taken
// while no Custos lived. Nobody's lock is touched for that.
func (a *advance) lostLock(r *fleet.Run) string {
	facts := a.facts[r.ID]
	if r.Lock == "" || facts == nil || facts.Locked.Or("") == "" {
		return ""
	}
	return "its lock is held by " + fleet.Line(facts.Locked.Or(""), 80)
}

// andAlso says two things on one line.
func andAlso(one, other string) string {
	if one == "" || other == "" {
		return one + other
	}
	return one + "; " + other
}
