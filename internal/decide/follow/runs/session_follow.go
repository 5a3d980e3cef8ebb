package runs

import (
	"cmp"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// follow looks at a session that was started: at its order, its phase, its agent.
// The first thing that says something settles the pass.
func (a *advance) follow(r *fleet.Run) {
	reg := a.regs[r.Session.Agent]
	if reg != nil && reg.Run != r.ID {
		reg = nil
	}
	agent := a.agents[r.Session.Agent]
	if reg != nil && agent != nil && agent.Instance != "" && agent.Instance != reg.Instance {
		agent = nil // of an instance before
	}
	if reg != nil && reg.Worktree != "" {
		r.Session.Worktree = reg.Tree()
	}
	exit := exitSeen(reg, agent)
	if by := a.stoppedBy(r, reg, exit); by != "" {
		a.stopped(r, by)
		return
	}
	if a.phase(r) || a.unstarted(r, reg) {
		return
	}
	if exit != nil {
		if !a.lookedSince(r, exit.At) {
			a.wait("its agent has ended: what it wrote last is being looked at")
			a.out.Due(a.at, a.at.Add(lookAgain))
			return
		}
		a.died(r, *exit)
		return
	}
	a.alive(r, reg, agent)
}

// lookAgain is when a pass asks again whether the phase was looked at.
const lookAgain = 2 * time.Second

// lookedSince says whether the phase of a run was looked at after a moment: an
// agent without a terminal writes it and is gone.
func (a *advance) lookedSince(r *fleet.Run, t fleet.Instant) bool {
	look := a.snap.Runs.Sight
	if a.facts[r.ID] == nil {
		return false
	}
	return look.At.IsZero() || t.IsZero() || !look.At.Add(-time.Duration(look.Took)).Before(t)
}

// exitSeen returns how the newest instance ended; nil when it has not, or that is
// not known.
func exitSeen(reg *fleet.Registration, agent *fleet.Agent) *fleet.Exit {
	switch {
	case reg == nil:
		return nil
	case reg.Exit != nil:
		return reg.Exit
	case agent == nil || agent.Instance == "" || agent.Process.PID != 0:
		return nil
	case agent.Unsettled():
		return nil
	case agent.Exit != nil:
		return agent.Exit
	}
	if agent.HasEnded() {
		return &fleet.Exit{Instance: agent.Instance, Status: agent.ExitStatus, Signal: agent.ExitSignal, Source: agent.Source}
	}
	return nil
}

// stoppedBy returns the person who stopped the agent; "" when none did.
func (a *advance) stoppedBy(r *fleet.Run, reg *fleet.Registration, exit *fleet.Exit) string {
	for _, o := range a.past.Orders {
		if o = a.orders[o.ID]; o.Agent == r.Session.Agent && o.Do == fleet.OrderStop && fleet.IsPerson(o.By) && !o.IsOver() {
			return o.By
		}
	}
	switch {
	case reg == nil:
		return ""
	case (reg.Desired == fleet.DesiredStopped || reg.Desired == fleet.DesiredRetired) && fleet.IsPerson(reg.DesiredBy):
		return reg.DesiredBy
	case exit == nil || exit.Ender() != fleet.EnderPerson:
		return ""
	case exit.Asked != "":
		return exit.Asked
	}
	return "a person at its terminal"
}

// stopped cancels the run: who stops its agent does not want it.
func (a *advance) stopped(r *fleet.Run, by string) {
	ledger.EndRun(r, by, fleet.Line(by, 60)+" stopped its agent", a.at)
	a.endSession(r, sessionPerson, r.Why)
}

// unstarted says whether the order that starts the agent is under way, or came to
// nothing.
func (a *advance) unstarted(r *fleet.Run, reg *fleet.Registration) bool {
	o, known := a.orders[r.Session.Order]
	rec := a.answers[r.Session.Order]
	switch {
	case known && !o.IsOver():
		why := o.Why
		if why == "" {
			why = "its agent is being started"
		}
		a.wait("%s", why)
		if o.State == fleet.OrderQueued {
			a.holdSession(r, fleet.HeldMove{Guard: o.Guard, Held: o.Why, Until: o.Until, Hint: o.Hint})
		}
		return true
	case known && o.State != fleet.OrderDone:
		a.failSession(r, sessionUnborn, "its agent could not be started: "+o.Why)
		return true
	case !known && rec != nil && rec.Result != nil && !ledger.IsCarriedOut(rec.Result.Status):
		a.failSession(r, sessionUnborn, "its agent could not be started: "+rec.Result.Why)
		return true
	}
	if reg == nil {
		a.failSession(r, sessionUnborn, "it is not known what became of the start of its agent")
	}
	return reg == nil
}

// died starts a session again that ended, once, and tells what was done already.
// The end of the machine is not counted: nothing is wrong with the agent.
func (a *advance) died(r *fleet.Run, exit fleet.Exit) {
	s := r.Session
	status, known := exit.Status.Get()
	itself := exit.Asked == fleet.ByAgent(s.Agent) || exit.Asked == "" && known && status == 0 && !exit.Failed()
	switch {
	case itself && !slices.ContainsFunc(r.Steps, isOffered):
		a.endSession(r, sessionLeft, "it ended by itself")
	case itself:
		a.failSession(r, sessionIdle, "its agent ended by itself, without a phase")
	case exit.Rebooted(), s.Recovered < s.Recover:
		if !exit.Rebooted() {
			s.Recovered++
		}
		s.Seen, s.Looks, s.MovedAt, s.Told = false, 0, a.at, ""
		a.start(r, fleet.Order{Do: fleet.OrderRecover, Text: againText(r)})
		a.wait("its agent is being started again")
	case s.Recovered > 0:
		a.failSession(r, sessionDeath, "its agent died again after it was started again")
	default:
		a.failSession(r, sessionDeath, "its agent died")
	}
}

// alive follows an agent that runs, as far as can be told.
func (a *advance) alive(r *fleet.Run, reg *fleet.Registration, agent *fleet.Agent) {
	s := r.Session
	if agent == nil || agent.Process.PID == 0 {
		a.wait("its agent is not seen now")
		return
	}
	a.met(r)
	if !slices.ContainsFunc(r.Steps, isProseLeft) {
		a.endSession(r, sessionLeft, "all its steps are reported")
		return
	}
	if a.facts[r.ID] == nil {
		a.wait("what it wrote down is not seen now")
		return
	}
	limit := s.Timeout
	if limit <= 0 {
		limit = sessionTimeout
	}
	if why := a.excused(r, reg, agent); why != "" {
		// Moved seldom, so that a session that waits is not written down at each pass.
		if s.Looks = 0; a.at.Since(s.MovedAt) >= time.Duration(limit)/10 {
			s.MovedAt = a.at
		}
		a.wait("%s", why)
		return
	}
	a.wait("its agent works")
	if a.out.Passed(a.at, s.MovedAt, time.Duration(limit)) {
		a.failSession(r, sessionTimedOut, "its agent has run for "+limit.String())
		return
	}
	a.look(r, reg, agent)
}

func isProseLeft(s fleet.RunStep) bool { return s.Do == fleet.StepProse && !s.IsOver() }

// met notes that the agent was seen; from then on its steps run.
func (a *advance) met(r *fleet.Run) {
	if r.Session.Seen {
		return
	}
	r.Session.Seen, r.Session.MovedAt = true, a.at
	for i := range r.Steps {
		if s := &r.Steps[i]; isOffered(*s) {
			ledger.SetStep(s, fleet.StepRunning, "", a.at)
		}
	}
}

// excused says why an agent that does nothing is not to blame for it.
func (a *advance) excused(r *fleet.Run, reg *fleet.Registration, agent *fleet.Agent) string {
	switch r.Session.Phase {
	case phaseCI:
		return "it awaits its pipeline"
	case phaseReview:
		return "it awaits a review"
	}
	switch {
	case reg.Desired == fleet.DesiredPaused:
		return "its agent is paused by " + reg.DesiredBy
	case agent.State == fleet.StateRateLimited:
		return "its agent is rate limited"
	case !slices.ContainsFunc(r.Steps, isOffered):
		return "its agent waits for other steps"
	}
	return ""
}

// look counts the looks in a row that find the agent idle at its prompt. It is given up when
// what it wrote down was read after the last of them, and is no phase.
func (a *advance) look(r *fleet.Run, reg *fleet.Registration, agent *fleet.Agent) {
	s, most := r.Session, cmp.Or(max(r.Session.IdleLooks, 0), idleLooks)
	told, open := a.orders[s.Told]
	busy := open && !told.IsOver() || reg.PromptState == fleet.DeliveryPending || reg.PromptState == fleet.DeliverySent
	switch {
	case agent.State == fleet.StateUnknown || agent.State == fleet.StateIdle && busy:
		return
	case agent.State != fleet.StateIdle:
		s.Looks = 0
		return
	case s.Looks == 0, s.Looks < most && a.out.Passed(a.at, s.LookedAt, time.Duration(lookSpacing)):
		s.Looks, s.LookedAt = s.Looks+1, a.at
	}
	switch {
	case s.Looks < most:
		a.out.Due(a.at, s.LookedAt.Add(time.Duration(lookSpacing)))
	case !a.facts[r.ID].Phase.IsKnown() || !a.lookedSince(r, s.LookedAt):
		a.wait("its agent is at its prompt: what it wrote down is being looked at")
		a.out.Due(a.at, a.at.Add(lookAgain))
	case reg.PromptState == fleet.DeliveryUndelivered:
		a.failSession(r, sessionIdle, "what it is to do did not reach its agent, which stands at its prompt")
	default:
		a.failSession(r, sessionIdle, "its agent went back to its prompt without a phase")
	}
}
