package decide

import (
	"time"

	"custos/internal/fleet"
)

// askAlive leaves an agent alone that works, or that cannot be shown not to: it
// is never stopped, interrupted or typed into but by a person's own order to
// stop or to interrupt it. Only an action that says that it is gentle may be
// done beside its work.
func askAlive(p *pass, r *request) *refusal {
	a := r.wish.Target.Agent
	if a == nil || a.Process.PID == 0 || r.ability.Gentle || r.wish.Do == doCheckpoint || r.wish.Do == doTriage {
		return nil
	}
	switch r.wish.Do {
	case doRecover:
		return nil // asked for its state: what lives is not recovered
	case doAnswer:
		return nil // only a person answers, and only the dialog that is there
	case doStop, doInterrupt:
		if r.byPerson() {
			return nil
		}
		if (r.isRelief() || r.reg != nil && r.reg.Dispatched) && a.TurnOver() {
			return p.askRelieved(r, a)
		}
		if r.run != nil && r.order != nil && a.State == fleet.StateIdle { // its run is over, and so is its turn
			return p.askSession(r, a)
		}
	case doNudge:
		if a.State == fleet.StateWaiting || a.State == fleet.StateDialog {
			return nil // its state refuses: the tool that it asks about has not begun
		}
		if a.State != fleet.StateStuck {
			return askTool(a) // when it is idle its turn is over; else its state refuses
		}
	}
	if no := askTool(a); no != nil {
		return no
	}
	return askProgress(a)
}

func askTool(a *fleet.Agent) *refusal {
	if a.Tool == nil || a.Tool.Over() {
		return nil
	}
	no := &refusal{why: "it has run " + fleet.Line(a.Tool.Name, 40) + " since " + clock(a.Tool.Since) + ", which may take " + a.Tool.Deadline.String()}
	if !a.Tool.Since.IsZero() {
		no.until = a.Tool.Since.Add(time.Duration(a.Tool.Deadline))
	}
	return no
}

func askProgress(a *fleet.Agent) *refusal {
	switch a.Progress {
	case fleet.ProgressNone:
		return nil
	case fleet.ProgressSome:
		return &refusal{why: "it makes progress"}
	}
	return &refusal{why: "it cannot be told whether it makes progress", hint: hintLook}
}
