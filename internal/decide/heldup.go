package decide

import (
	"time"

	"custos/internal/fleet"
)

// askLogin holds back what would have an agent go on whose login was refused, until the
// model has answered another one of its kind and account since. A person who told the agent
// something, or resumed it, since it was refused says that the login works again.
func (p *pass) askLogin(r *request) *refusal {
	a := r.wish.Target.Agent
	if a == nil || a.State != fleet.StateAuthLost || r.order != nil && r.wish.Do != doNudge {
		return nil
	}
	const relogin = ": log in again, then tell it to go on"
	no := &refusal{hint: "custos nudge " + word(a.Name) + " continue"}
	refused, known := p.heldUpAt(a)
	switch {
	case !known:
		no.why = "its login was refused, it is not known when, and so not whether it works again" + relogin
		no.hint = "custos attach " + word(a.Name)
	case r.isSince(refused) || p.isLifted(r, refused) || p.isAnswered(a, refused):
		return nil
	default:
		no.why = "its login was refused at " + clock(refused) + ", and no other agent of its kind and account was answered since" + relogin
	}
	return no
}

// askUntold holds back what is ordered of an agent of no account that met a limit of which
// nobody tells the end: only a rule tries, at its own pace, whether it still holds.
func (p *pass) askUntold(r *request) *refusal {
	a := r.wish.Target.Agent
	if r.order == nil || a == nil || a.State != fleet.StateRateLimited || a.Failure == "" || !a.RateLimitedUntil.IsZero() {
		return nil
	}
	no := &refusal{why: "it is rate limited, and it is not told until when", hint: "custos resume " + word(a.Name)}
	since, known := p.heldUpAt(a)
	switch {
	case known && p.isLifted(r, since):
		return nil
	case r.reg == nil && known && r.isSince(since):
		return nil // nobody can resume it
	case r.reg == nil:
		no.hint = "custos nudge " + word(a.Name) + " continue"
	}
	return no
}

// askTooLong holds back what was ordered of an agent before its conversation was too long:
// its turn would be refused as well.
func (p *pass) askTooLong(r *request) *refusal {
	a := r.wish.Target.Agent
	if r.order == nil || r.isRelief() || a == nil || a.State != fleet.StateContextHigh || a.Failure == "" {
		return nil
	}
	if refused, known := p.heldUpAt(a); known && r.isSince(refused) {
		return nil
	}
	return &refusal{why: "its conversation is too long to go on, and is to be made shorter first", hint: "custos attach " + word(a.Name)}
}

// heldUpAt is when an error ended the turn of an agent that is held up by it.
func (p *pass) heldUpAt(a *fleet.Agent) (at fleet.Instant, known bool) {
	if a.State == fleet.StateRateLimited && !a.RateLimitedAt.IsZero() {
		return a.RateLimitedAt, true
	}
	dwell, known := a.Dwell.Get()
	return p.snap.Agents.At.Add(-time.Duration(dwell)), known
}

// isSince says whether a person gave the order after a moment.
func (r *request) isSince(at fleet.Instant) bool { return r.byPerson() && at.Before(r.order.At) }

// isLifted says whether a person resumed the agent, or its account, after a moment.
func (p *pass) isLifted(r *request, at fleet.Instant) bool {
	if account := accountOf(r.reg, r.wish.Target.Agent); account != "" {
		return at.Before(p.known.lifted(account))
	}
	return r.reg != nil && at.Before(r.reg.LimitLifted)
}

// isAnswered says whether the model has answered another agent of the same login since.
func (p *pass) isAnswered(a *fleet.Agent, since fleet.Instant) bool {
	for _, other := range p.snap.Agents.Value {
		if other.Kind == a.Kind && other.Account == a.Account && other.Name != a.Name && !other.Answered.IsZero() && since.Before(other.Answered) {
			return true
		}
	}
	return false
}

// yields says whether what a person says later goes before an order: it waits because its
// agent is held up, and that person says that it is so no more.
func (p *pass) yields(o *fleet.Order) bool {
	a := p.known.seen[o.Agent]
	if o.Do != fleet.OrderNudge || o.Guard != fleet.GuardGate || a == nil || !a.HeldUp() {
		return false
	}
	at, known := p.heldUpAt(a)
	return known && !(fleet.IsPerson(o.By) && at.Before(o.At))
}
