package decide

import (
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// askState refuses what does not fit the state the agent, or the thing, is in, and
// what is not to be done with something that no agent has any more.
func askState(p *pass, r *request) *refusal {
	if no := askHint(r); no != nil {
		return no
	}
	if no := p.askFit(r); no != nil {
		return no
	}
	return p.askOrphan(r)
}

// askHint refuses what would rest on the screen of a CLI that is newer than what Custos was
// taught: typing there, and what a rule or a run ends because the agent seems to be done.
func askHint(r *request) *refusal {
	a := r.wish.Target.Agent
	if a == nil || !a.Hint {
		return nil
	}
	rests := r.wish.Do == doNudge || r.wish.Do == doAnswer || (r.wish.Do == doStop || r.wish.Do == doInterrupt) && !r.byPerson()
	if !rests {
		return nil
	}
	return &refusal{why: strings.TrimSpace(a.Kind+" "+a.Version) + " is newer than " + a.Outgrown + ", which Custos was taught, and nothing but its screen says what it does",
		hint: "custos attach " + word(a.Name)}
}

func (p *pass) askFit(r *request) *refusal {
	switch r.wish.Do {
	case doSpawn:
		return p.askSpawn(r)
	case doRecover:
		if no := askRecover(r); no != nil {
			return no
		}
		return p.askWorkSeen(r)
	case doNudge:
		return p.askNudge(r)
	case doAnswer:
		return askAnswer(r)
	case doInterrupt:
		return askRunning(r, false)
	case doStop:
		return askRunning(r, true)
	case doRemoveTree:
		return p.askTree(r)
	}
	return nil
}

// askSpawn: the name is free, or its agent is down.
func (p *pass) askSpawn(r *request) *refusal {
	if r.order == nil {
		return &refusal{why: "an agent is spawned by an order only"}
	}
	name, reg := r.wish.Subject.Name, r.reg
	_, listed := p.queue.listed[name]
	switch seen := p.known.seen[name]; {
	case r.order.Spawn != nil && reg != nil && seen != nil && seen.HasEnded() && reg.Desired != fleet.DesiredRetired:
		return &refusal{why: "an agent of this name is registered already: it is started again by recover, and another one takes another name", hint: "custos recover " + word(name), final: true}
	case listed, r.order.Spawn != nil && reg != nil:
		return &refusal{why: "an agent of this name is registered already: take another name", final: true}
	case reg != nil && reg.Desired == fleet.DesiredRetired:
		return &refusal{why: "it is retired", final: true}
	case reg != nil && reg.Desired == fleet.DesiredPaused:
		return &refusal{why: "it is paused", hint: "custos resume " + word(name)}
	case isAlive(seen):
		return &refusal{why: "an agent of this name runs already", final: true}
	case reg != nil && reg.Desired != fleet.DesiredRunning && !r.byPerson():
		return &refusal{why: "it is not wanted: it is " + string(reg.Desired) + ", by " + author(reg.DesiredBy), final: true}
	}
	return nil
}

// askRecover: it is registered, down, wanted, and its restart policy allows it.
func askRecover(r *request) *refusal {
	a, reg := r.wish.Target.Agent, r.reg
	switch {
	case reg == nil && r.order != nil && a != nil && a.HasEnded():
		return onlyAnew(a)
	case reg == nil:
		return &refusal{why: "it is not registered: nothing says how it is started", final: true}
	case a == nil:
		return &refusal{why: "only an agent is recovered", final: true}
	case a.Process.PID != 0:
		return &refusal{why: "it runs", final: true}
	case !a.HasEnded():
		return &refusal{why: "it cannot be told whether it has ended", hint: hintLook}
	case reg.Desired == fleet.DesiredRetired:
		return &refusal{why: "it is retired", final: true}
	case r.byPerson():
		return nil // who may have made its folder again: what starts it looks
	case reg.Desired != fleet.DesiredRunning:
		return &refusal{why: "it is not wanted: it is " + string(reg.Desired) + ", by " + author(reg.DesiredBy)}
	case a.FolderLost != "":
		return &refusal{why: a.FolderLost, hint: "custos stop " + word(a.Name), final: true}
	case r.order != nil && r.run != nil:
		return nil // the run says how often
	}
	return askRestart(r)
}

// askRestart: what Custos itself ended, it ended to start it anew.
func askRestart(r *request) *refusal {
	switch r.reg.Restart {
	case fleet.RestartAlways:
		return nil
	case fleet.RestartOnFailure:
		exit := exitOf(r.reg, r.wish.Target.Agent)
		if a := r.wish.Target.Agent; a.State == fleet.StateRateLimited || a.State == fleet.StateAuthLost {
			return nil // whatever its status says, it was not done
		}
		if exit != nil && !exit.Failed() && exit.Asked != fleet.ByCustos || exit == nil && r.wish.Target.Agent.State == fleet.StateFinished {
			return &refusal{why: "it ended well, and is restarted only after a failure"}
		}
		return nil
	}
	return &refusal{why: "its restart policy is never"}
}

// endedByPerson returns how a person is known to have ended the agent: by a word to
// Custos, or at its own terminal. "" when none is: that it is not known who did it is
// no reason to leave it dead.
func (p *pass) endedByPerson(r *request) string {
	if r.reg != nil && r.reg.Desired == fleet.DesiredStopped && fleet.IsPerson(r.reg.DesiredBy) {
		return "a person stopped " + r.wish.Subject.String() + ": it is not started again"
	}
	exit := exitOf(r.reg, p.known.seen[r.wish.Subject.Name])
	if exit == nil {
		exit = exitOf(nil, r.wish.Target.Agent)
	}
	switch {
	case exit == nil || exit.Ender() != fleet.EnderPerson || isWantedSince(r.reg, exit.At):
		return ""
	case exit.Asked != "":
		return fleet.Line(exit.Asked, 80) + " ended " + r.wish.Subject.String() + ": it is not started again"
	}
	return "a person ended " + r.wish.Subject.String() + " (" + fleet.Line(exit.Quit, 80) + "): it is not started again"
}

// isWantedSince says whether a person wanted an agent to run at a moment or after it: who had
// ended it before counts no more, whatever became of the start that was asked for.
func isWantedSince(reg *fleet.Registration, then fleet.Instant) bool {
	return reg != nil && reg.Desired == fleet.DesiredRunning && fleet.IsPerson(reg.DesiredBy) && !reg.DesiredAt.Before(then)
}

// askNudge: it runs, its turn is over or nothing of it moves, its input line is
// empty, and no person types there.
func (p *pass) askNudge(r *request) *refusal {
	a := r.wish.Target.Agent
	if no := askWanted(r); no != nil {
		return no
	}
	if !isAlive(a) {
		return &refusal{why: "it does not run"}
	}
	if a.State != fleet.StateIdle && a.State != fleet.StateStuck && !(r.isRelief() && a.TurnOver()) && !a.HeldUp() {
		return &refusal{why: "it is " + strings.ReplaceAll(string(a.State), "_", " ") + ", not idle"}
	}
	return p.askInput(a)
}

// askInput: nothing is half-written in the input line of an agent, and no person may
// be typing there.
func (p *pass) askInput(a *fleet.Agent) *refusal {
	if a.Pane == nil {
		return nil // no terminal: no other types into it
	}
	if no := p.askTyping(a); no != nil {
		return no
	}
	switch empty, known := a.ComposerEmpty.Get(); {
	case !known:
		return &refusal{why: "it cannot be told whether its input line is empty: " + a.ComposerEmpty.Why()}
	case !empty:
		return &refusal{why: "something is half-written in its input line"}
	}
	return nil
}

// askWanted refuses a text for an agent that is not to run.
func askWanted(r *request) *refusal {
	if r.reg == nil {
		return nil
	}
	switch r.reg.Desired {
	case fleet.DesiredStopped, fleet.DesiredRetired, fleet.DesiredDraining:
		return &refusal{why: "it is " + string(r.reg.Desired) + ", by " + author(r.reg.DesiredBy), final: true}
	}
	return nil
}

// askTyping: a person who looks at a pane that just changed may be typing.
func (p *pass) askTyping(a *fleet.Agent) *refusal {
	people := max(a.Attached, a.Pane.Attached)
	if people == 0 {
		return nil
	}
	if a.Pane.InMode {
		return &refusal{why: "a person scrolls in its pane"}
	}
	quiet, known := a.Pane.Activity.Get()
	switch {
	case !known:
		return &refusal{why: "a person looks at its pane, and it cannot be told whether they type"}
	case quiet < p.policy.Agents.Typing:
		return &refusal{why: "a person looks at its pane, which changed less than " + p.policy.Agents.Typing.String() + " ago",
			until: p.snap.At.Add(time.Duration(p.policy.Agents.Typing - quiet))}
	}
	return nil
}

// askAnswer: a person, the state, and the very same dialog.
func askAnswer(r *request) *refusal {
	a := r.wish.Target.Agent
	switch {
	case !r.byPerson():
		return &refusal{why: "only a person answers an agent"}
	case r.order.Dialog == "":
		return &refusal{why: "the answer does not say to which dialog", final: true}
	case !isAlive(a):
		return &refusal{why: "it does not run", final: true}
	case a.State != fleet.StateWaiting && a.State != fleet.StateDialog:
		return &refusal{why: "it waits for no answer: it is " + strings.ReplaceAll(string(a.State), "_", " "), final: true}
	case a.Dialog == nil:
		return &refusal{why: "its dialog cannot be read now"}
	case a.Dialog.Hash != r.order.Dialog:
		return &refusal{why: "its dialog is another one now", final: true}
	}
	return askChoice(a.Dialog, r.order.Text)
}

func askChoice(d *fleet.Dialog, text string) *refusal {
	var names []string
	for _, c := range d.Choices {
		names = append(names, c.Name)
	}
	if len(names) == 0 || slices.Contains(names, text) {
		return nil
	}
	return &refusal{why: "the dialog has no choice " + word(text) + ": it has " + strings.Join(names, ", "), final: true}
}

// askStopped: an agent that is down for certain is stopped already, whatever holds
// actions back: none is needed.
func (p *pass) askStopped(r *request) (fleet.Guard, *refusal) {
	if r.wish.Do != doStop || askInFlight(p, r) != nil || askForeign(p, r) != nil || askEvidence(p, r) != nil {
		return "", nil
	}
	if no := askRunning(r, true); no != nil && no.done {
		return fleet.GuardState, no
	}
	return "", nil
}

// hasLeftPlace says whether an agent that has ended has left the place that Custos made for it.
func hasLeftPlace(a *fleet.Agent) bool {
	ours := a.Owner == fleet.OwnerCustos || a.Owner == fleet.OwnerAdopted && a.Instance != ""
	return ours && a.HasEnded() && a.Pane != nil && a.Pane.Dead
}

// askRunning: what has ended is neither interrupted nor stopped; to one who
// ordered it stopped, that is as good as done.
func askRunning(r *request, stop bool) *refusal {
	a := r.wish.Target.Agent
	switch {
	case isAlive(a):
		return nil
	case a == nil:
		return &refusal{why: "there is no agent to " + r.wish.Do, final: true}
	case stop && (a.State == fleet.StateZombie || len(a.Procs) > 0 || r.byPerson() && len(a.Left) > 0):
		return nil // its pane, or what it left running
	case stop && r.byPerson() && hasLeftPlace(a):
		return nil // nothing of it is to stay
	case !a.HasEnded():
		return &refusal{why: "it cannot be told whether it runs", hint: hintLook}
	}
	return &refusal{why: "it does not run", final: !stop, done: stop}
}
