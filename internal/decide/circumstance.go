package decide

import (
	"time"

	"custos/internal/fleet"
)

// askGrace leaves agents alone for a while after Custos has started: its first
// looks have nothing to compare with. A person's word lifts it.
func askGrace(p *pass, r *request) *refusal {
	if r.wish.Subject.Kind != fleet.KindAgent || p.policy.ApprovedBy != "" || r.byPerson() {
		return nil
	}
	up := p.snap.At.Since(p.past.StartedAt)
	grace := time.Duration(p.policy.Grace)
	if p.past.StartedAt.IsZero() || up >= grace {
		return nil
	}
	return &refusal{
		why:   "Custos started at " + clock(p.past.StartedAt) + " and leaves agents alone for " + p.policy.Grace.String(),
		until: p.snap.At.Add(grace - up),
		hint:  hintApply,
	}
}

// askCause leaves an effect alone while its cause fires: mending the cause may
// end it, and mending it twice is a storm.
func askCause(p *pass, r *request) *refusal {
	for _, cause := range r.finding.CausedBy {
		if cause == r.finding.AlertKey || !p.fires(cause) || gated(r, cause) {
			continue
		}
		no := &refusal{why: "it follows from " + cause.String() + ", which comes first"}
		if a := p.alert(cause); a != nil && a.Number > 0 {
			no.hint = "custos why " + number(a)
		}
		return no
	}
	return nil
}

// fires says whether a cause is still there: only an alert that is known to be
// over, or not yet firing, is not.
func (p *pass) fires(k fleet.AlertKey) bool {
	a := p.alert(k)
	return a == nil || a.Status == fleet.AlertFiring
}

func askCannot(_ *pass, r *request) *refusal {
	if !r.able {
		return &refusal{why: "there is no action " + r.wish.Do + " here", final: true}
	}
	if r.ability.Cannot != "" {
		return &refusal{why: r.ability.Cannot, hint: r.ability.Needs, final: true}
	}
	return nil
}
