package runs

import (
	"cmp"

	"custos/internal/fleet"
)

// hold notes that a step would begin, and what holds it back.
func (a *advance) hold(r *fleet.Run, s *fleet.RunStep, held fleet.HeldMove) {
	if r.IsOver() {
		return // skipped, for that very cause
	}
	held.Move = fleet.Move{Record: fleet.Subject{Kind: fleet.KindRun, Name: r.ID + "/" + s.ID}, From: string(s.State), To: string(fleet.StepReady), Why: s.Title}
	a.out.Hold(held)
}

// holdRun notes the same of what is of a run as a whole.
func (a *advance) holdRun(r *fleet.Run, to string, held fleet.HeldMove) {
	if r.IsOver() {
		return
	}
	held.Move = fleet.Move{Record: fleet.Subject{Kind: fleet.KindRun, Name: r.ID}, From: string(r.State), To: to, Why: r.Formula}
	a.out.Hold(held)
}

// holdSession notes that no agent works on a run that is to have one.
func (a *advance) holdSession(r *fleet.Run, held fleet.HeldMove) {
	a.holdRun(r, "its agent works", held)
}

// unlocked notes that a run is not begun for want of its lock.
func (a *advance) unlocked(r *fleet.Run, g fleet.Guard, why string) {
	r.Why = "waits: " + why
	a.holdRun(r, "begun", fleet.HeldMove{Guard: g, Held: fleet.Line(why, 300)})
}

// lastWait is what the run at hand was last said to wait for.
func (a *advance) lastWait(g fleet.Guard) fleet.HeldMove {
	return fleet.HeldMove{Guard: g, Held: a.waits[len(a.waits)-1]}
}

// pauses says whether a step that is tried again waits for that.
func (a *advance) pauses(r *fleet.Run, s *fleet.RunStep) bool {
	if s.NotBefore.IsZero() || a.out.Due(a.at, s.NotBefore) {
		return false
	}
	a.hold(r, s, fleet.HeldMove{Guard: fleet.GuardCooldown, Held: cmp.Or(s.Why, "it is tried again"), Until: s.NotBefore})
	return true
}
