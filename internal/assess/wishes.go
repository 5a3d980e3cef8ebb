package assess

import (
	"sort"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// wishes expands what a rule asks for over its targets, in the rule's order.
func (p *pass) wishes(r *rules.Rule, it item) []fleet.Wish {
	var out []fleet.Wish
	for i := range r.Actions {
		a := &r.Actions[i]
		p.view.Use(r.Over, it.seen)
		p.fresh.Subject(r.Over, it.value)
		if a.Targets == "" {
			out = append(out, p.wish(r, a, r.Over, it)...)
			continue
		}
		out = append(out, p.expand(r, a)...)
	}
	p.view.NoTarget()
	p.fresh.NoTarget()
	return out
}

// ranked is a wish with what its target is ordered by.
type ranked struct {
	wish fleet.Wish
	rank rules.Rank
}

// expand makes the wishes of one action over all things of a kind.
func (p *pass) expand(r *rules.Rule, a *rules.Action) []fleet.Wish {
	part := fleet.PartOf(a.Targets)
	if sight := *p.snap.Sight(part); !sight.Usable() {
		return []fleet.Wish{{Do: a.Do, Subject: fleet.Subject{Kind: fleet.KindPart, Name: string(part)}, Limit: a.Limit, Text: a.Text,
			Unknown: string(part) + " is not known: " + rules.Blindness(part, sight)}}
	}
	var list []ranked
	for _, it := range p.list(a.Targets) {
		for _, w := range p.wish(r, a, a.Targets, it) {
			list = append(list, ranked{w, a.Rank(p.view)})
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if c := list[i].rank.Compare(list[j].rank); c != 0 {
			return c < 0
		}
		return list[i].wish.Subject.Less(list[j].wish.Subject)
	})
	out := make([]fleet.Wish, len(list))
	for i := range list {
		out[i] = list[i].wish
	}
	return out
}

// wish returns the wish for one target, or none when the target does not
// qualify. A target that qualifies only by stale facts is one that is not known.
func (p *pass) wish(r *rules.Rule, a *rules.Action, k fleet.Kind, it item) []fleet.Wish {
	p.view.Target(k, it.value)
	truth, why := a.Wants(p.view)
	if truth == rules.False {
		return nil
	}
	if truth == rules.Broken {
		p.fail(r.Name, a.Do+": "+why)
		why = "the rule failed: " + why
	}
	if truth == rules.True {
		why = p.whyStale(a, k, it)
	}
	return []fleet.Wish{{Do: a.Do, Subject: it.subject, Target: it.target, Limit: a.Limit, Unknown: why, Text: a.Text}}
}

// whyStale says what would have to be looked at again before the target may be
// touched; nothing when it is fresh.
func (p *pass) whyStale(a *rules.Action, k fleet.Kind, it item) string {
	part := fleet.PartOf(k)
	if sight := *p.snap.Sight(part); !sight.Fresh() {
		return string(part) + " is " + rules.Blindness(part, sight)
	}
	p.fresh.Target(k, it.value)
	if truth, why := a.Wants(p.fresh); truth != rules.True {
		return why
	}
	return ""
}
