package decide

import "fmt"

// askBlast caps how many things of one kind are acted on in one pass: a rule
// that is suddenly true of everything is more likely wrong than everything is. A
// person's order names one thing.
func askBlast(p *pass, r *request) *refusal {
	kind := r.wish.Subject.Kind
	reached := p.reached[kind]
	if p.policy.Blast <= 0 || r.isAsked() || reached[r.wish.Subject] || len(reached) < p.policy.Blast {
		return nil
	}
	return &refusal{why: fmt.Sprintf("at most %d of kind %s are acted on in one pass", p.policy.Blast, kind)}
}

// askLimit is the rule's own cap on the targets it takes at once. It is asked
// last, so that a target which is refused anyway does not use up a place.
func askLimit(_ *pass, r *request) *refusal {
	if r.wish.Limit <= 0 || r.granted < r.wish.Limit {
		return nil
	}
	if r.run != nil {
		return askFull(r)
	}
	return &refusal{why: fmt.Sprintf("rule %s takes at most %d at once", r.finding.Rule, r.wish.Limit)}
}
