package decide

import (
	"slices"

	"custos/internal/fleet"
)

// objection is what one guard says against a request.
type objection struct {
	guard fleet.Guard
	*refusal
}

// objections lists what the guards say against a request, in their order. What has no end that
// is known, said first, is all there is to say: it rests on nothing that a later guard
// could add to. What ends at a known moment is told with all that holds beside it.
func (p *pass) objections(r *request) (list []objection) {
	for i := range p.guards {
		g := &p.guards[i]
		if g.sparesMessages && r.ability.Harmless || g.ofPass && len(list) > 0 {
			continue
		}
		no := g.ask(p, r)
		if no == nil {
			continue
		}
		list = append(list, objection{g.name, no})
		if list[0].until.IsZero() {
			break
		}
	}
	return list
}

// longest is the hold whose end is known to be the latest, with what holds beside it; the
// first one, where no end is known. A request cannot be granted before that moment.
func longest(list []objection) (fleet.Guard, *refusal) {
	if len(list) == 0 {
		return "", nil
	}
	last := 0
	for i := range list {
		if no := list[i]; !no.until.IsZero() && (list[last].until.IsZero() || list[last].until.Before(no.until)) {
			last = i
		}
	}
	said := *list[last].refusal
	said.also = slices.Clone(said.also)
	for i, other := range list {
		if i != last {
			said.also = append(said.also, string(other.guard)+": "+other.why)
			said.also = append(said.also, other.also...)
		}
	}
	return list[last].guard, &said
}

// ofOne joins what one guard says for several reasons. What will never be lawful is told
// alone.
func ofOne(g fleet.Guard, list ...*refusal) *refusal {
	var all []objection
	for _, no := range list {
		switch {
		case no == nil:
			continue
		case no.final:
			return no
		}
		all = append(all, objection{g, no})
	}
	_, no := longest(all)
	return no
}
