package decide

import "custos/internal/fleet"

// askRecord judges an order that changes nothing but the record: what it asks
// for is done by writing it down.
func (p *pass) askRecord(o *fleet.Order) (fleet.Guard, *refusal) {
	switch {
	case o.Do == fleet.OrderAdopt:
		return p.askAdopt(o)
	case o.Account != "":
		return p.askAccount(o)
	}
	reg := p.known.registered[o.Agent]
	if reg == nil {
		return fleet.GuardState, &refusal{why: "no agent of this name is registered", final: true}
	}
	return askDesired(o, reg, p.known.seen[o.Agent])
}

func askDesired(o *fleet.Order, reg *fleet.Registration, seen *fleet.Agent) (fleet.Guard, *refusal) {
	switch reg.Desired {
	case fleet.DesiredStopped, fleet.DesiredRetired:
		return fleet.GuardState, &refusal{why: "it is " + string(reg.Desired) + ", by " + author(reg.DesiredBy), final: true}
	case fleet.DesiredPaused:
		if o.Do == fleet.OrderPause {
			return "", &refusal{why: "it was paused already", done: true}
		}
		return "", &refusal{why: "resumed", done: true}
	}
	if o.Do == fleet.OrderPause {
		return "", &refusal{why: "paused", done: true}
	}
	if seen != nil && (seen.State == fleet.StateRateLimited || seen.State == fleet.StateAuthLost) {
		return "", &refusal{why: "what waited for its limit, or its login, goes on; it was not paused", done: true}
	}
	return "", &refusal{why: "it was not paused", done: true}
}

// askAccount judges a pause or resume of every agent of an account.
func (p *pass) askAccount(o *fleet.Order) (fleet.Guard, *refusal) {
	for i := range p.past.Registrations {
		if p.past.Registrations[i].Account == o.Account {
			return "", &refusal{why: string(o.Do) + "d", done: true}
		}
	}
	return fleet.GuardState, &refusal{why: "no registered agent has the account " + o.Account, final: true}
}

// askAdopt judges the adoption of an agent that Custos did not start.
func (p *pass) askAdopt(o *fleet.Order) (fleet.Guard, *refusal) {
	if reg := p.known.registered[o.Agent]; reg != nil {
		return fleet.GuardState, &refusal{why: "an agent of this name is registered already", final: true}
	}
	if !p.snap.Agents.Fresh() {
		return fleet.GuardEvidence, &refusal{why: "agents is " + status(p.snap.Agents.Status), hint: hintLook}
	}
	a := p.known.seen[o.Agent]
	if a != nil && a.HasEnded() {
		return fleet.GuardState, onlyAnew(a)
	}
	if a == nil || !isAlive(a) {
		return fleet.GuardState, &refusal{why: "no agent of this name runs", final: true}
	}
	return "", &refusal{why: "adopted", done: true}
}
