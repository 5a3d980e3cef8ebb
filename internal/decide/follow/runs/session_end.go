package runs

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// The words of the phase protocol.
const (
	phaseDone     = "done"
	phaseMerged   = "merged"
	phaseFailed   = "failed"
	phaseCrashed  = "crashed"
	phaseEscalate = "escalate"
	phaseCI       = "awaiting_ci"
	phaseReview   = "awaiting_review"
)

// phase reads the phase that the agent wrote down, and says whether that ended
// the session. What was written before the session was asked for is of another;
// an unknown word is no phase, and is noted once.
func (a *advance) phase(r *fleet.Run) bool {
	s, facts := r.Session, a.facts[r.ID]
	if facts == nil {
		return false
	}
	p, known := facts.Phase.Get()
	if !known || p.Word != "" && (p.At.Before(r.At) || p.At.Before(s.Asked)) {
		return false
	}
	if isPhase(p.Word) || p.Word == "" {
		a.notePhase(s, p)
	} else if why := "not a phase: " + fleet.Line(p.Word, 80); s.PhaseWhy != why {
		a.notePhase(s, fleet.Phrase{Reason: why, At: p.At})
	}
	why := "its agent said " + s.Phase
	if s.PhaseWhy != "" {
		why += ": " + fleet.Line(s.PhaseWhy, 200)
	}
	switch s.Phase {
	case phaseDone, phaseMerged:
		finishProse(r, a.at)
		a.endSession(r, sessionPhase, why)
	case phaseFailed, phaseCrashed:
		a.failSession(r, sessionPhase, why)
	case phaseEscalate:
		a.escalate(r, why)
	}
	return s.End != ""
}

func isPhase(word string) bool {
	return slices.Contains([]string{phaseDone, phaseMerged, phaseFailed, phaseCrashed, phaseEscalate, phaseCI, phaseReview}, word)
}

func (a *advance) notePhase(s *fleet.RunSession, p fleet.Phrase) {
	why := fleet.Line(p.Reason, 300)
	if s.Phase == p.Word && s.PhaseAt == p.At && s.PhaseWhy == why {
		return
	}
	s.Phase, s.PhaseWhy, s.PhaseAt = p.Word, why, p.At
	s.MovedAt, s.Looks = a.at, 0
}

// finishProse takes prose as done that the agent did not report, but said by its
// phase. What needs something else that is not done is not.
func finishProse(r *fleet.Run, at fleet.Instant) {
	g := ledger.StepsOf(r)
	spread(r, func(s *fleet.RunStep) bool {
		if !isProseLeft(*s) || s.State == fleet.StepPerson || ledger.IsHeld(s) || g.Unmet(s) != "" {
			return false
		}
		ledger.SetStep(s, fleet.StepDone, "by its phase, not reported one by one", at)
		return true
	})
}

// escalate leaves what was being worked on to a person, whom the agent asks something.
func (a *advance) escalate(r *fleet.Run, why string) {
	s := r.Session
	s.Asks, s.AsksAt = s.PhaseWhy, a.at
	if !s.PhaseAt.IsZero() {
		s.AsksAt = s.PhaseAt
	}
	a.awaitPerson(r, why)
}

// awaitPerson ends a session, and leaves what was being worked on to a person.
func (a *advance) awaitPerson(r *fleet.Run, why string) {
	for i := range r.Steps {
		if s := &r.Steps[i]; isOffered(*s) {
			ledger.SetStep(s, fleet.StepPerson, why, a.at)
		}
	}
	r.Session.Keep = why
	a.endSession(r, sessionPhase, why)
}

// failSession gives up: prose that was worked on failed, and what waits for an
// agent is skipped. The worktree is kept.
func (a *advance) failSession(r *fleet.Run, end, why string) {
	why = fleet.Line(why, 300)
	g := ledger.StepsOf(r)
	for i := range r.Steps {
		switch s := &r.Steps[i]; {
		case isOffered(*s), isProseLeft(*s) && s.State == fleet.StepWaiting && g.Unmet(s) == "":
			ledger.SetStep(s, fleet.StepFailed, why, a.at)
		case isProseLeft(*s) && s.State == fleet.StepWaiting:
			ledger.SetStep(s, fleet.StepSkipped, why, a.at)
		}
	}
	r.Session.Keep = why
	a.endSession(r, end, why)
}

// endSession ends the session of a run, if there is one: an order to stop waits
// until the agent is still. A person's cancelling is a person's word, and does not
// wait. From then on nothing may start the agent again.
func (a *advance) endSession(r *fleet.Run, end, why string) {
	s := r.Session
	if s == nil || s.End != "" || s.Order == "" && end == sessionLeft {
		return
	}
	s.End, s.EndedAt, s.Looks = end, a.at, 0
	if s.Order == "" {
		return
	}
	by := fleet.ByCustos
	if end == sessionCancelled {
		by = r.Cancel
	}
	if r.Cancel != "" {
		s.Keep = r.Why
	}
	s.Stop = fmt.Sprintf("%s-stop-%d", r.ID, s.Starts)
	a.give(fleet.Order{ID: s.Stop, Do: fleet.OrderStop, Agent: s.Agent, By: by, Text: "run " + r.ID + ": " + fleet.Line(why, 200), Expires: a.at.Add(stopPatience)})
}

// aftermath follows the worktree of a run that is over: that it is known, and that
// it is removed.
func (a *advance) aftermath(r *fleet.Run) {
	s := r.Session
	if s == nil {
		return
	}
	if reg := a.regs[s.Agent]; reg != nil && reg.Run == r.ID && reg.Worktree != "" {
		s.Worktree = reg.Tree()
	}
	if s.Worktree == "" || s.Removal == removalDone {
		return
	}
	for i := range a.plan.Actions {
		do := &a.plan.Actions[i]
		if t := do.Target.Worktree; do.Do == doRemoveTree && t != nil && t.Path == s.Worktree {
			s.Removal = do.ID
		}
	}
	if rec := a.records[s.Removal]; rec != nil && rec.Result != nil {
		if s.Removal = ""; rec.Result.Status == fleet.ResultDone || rec.Result.Status == fleet.ResultUnneeded {
			s.Removal = removalDone
		}
	}
}

const removalDone = "done"
