package loop

import (
	"context"
	"fmt"
	"slices"

	"custos/internal/decide"
	"custos/internal/fleet"
)

// Mending is what some alerts' findings would lead to in a pass, under its own
// policy, and nothing else: what others lead to takes no room from them.
func Mending(p fleet.Pass, of []fleet.AlertKey) fleet.Plan {
	found := p.Assessment
	found.Findings = slices.DeleteFunc(slices.Clone(found.Findings), func(f fleet.Finding) bool { return !slices.Contains(of, f.AlertKey) })
	plan := decide.Decide(p.Policy, p.Snapshot, found, p.Past)
	other := func(a fleet.Action) bool { return a.Order != "" || !slices.Contains(of, a.For) }
	return fleet.Plan{
		At:      plan.At,
		Actions: slices.DeleteFunc(plan.Actions, other),
		Skipped: slices.DeleteFunc(plan.Skipped, func(s fleet.Skipped) bool { return other(s.Action) }),
	}
}

// Mend has done what some alerts' findings lead to, because a person approves of
// it, as a patrol does: it acts, looks again, and goes on until nothing is left.
// Only what meant says is done. The returned pass holds the last look, every
// action, and what became of each.
func (l *Loop) Mend(ctx context.Context, order fleet.PatrolOrder, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error) {
	var all []fleet.Action
	once := func(a fleet.Action) bool {
		return meant(a) && !slices.ContainsFunc(all, func(b fleet.Action) bool { return a.Do == b.Do && a.Subject == b.Subject })
	}
	for {
		l.o.Board.First(ctx)
		p, err := l.mend(ctx, order, of, once)
		if err != nil {
			return p, err
		}
		if len(p.Plan.Actions) == 0 {
			p.Plan.Actions, p.Results = all, l.came(all)
			return p, nil
		}
		all = append(all, p.Plan.Actions...)
		if err := l.o.Act.Wait(ctx); err != nil {
			return p, err
		}
	}
}

// mend thinks, and starts what is meant.
func (l *Loop) mend(ctx context.Context, order fleet.PatrolOrder, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error) {
	l.turns.Lock()
	defer l.turns.Unlock()
	p, err := l.think(ctx, false, order)
	if err != nil {
		return p, err
	}
	p.Plan = Mending(p, of)
	p.Plan.Actions = slices.DeleteFunc(p.Plan.Actions, func(a fleet.Action) bool { return !meant(a) })
	if len(p.Plan.Actions) == 0 {
		return p, nil
	}
	for i := range p.Plan.Actions {
		p.Plan.Actions[i].Approved = order.By
	}
	if err := l.start(ctx, p, p.Plan.Actions, nil); err != nil {
		return p, fmt.Errorf("cannot start what mends it: %w", err)
	}
	return p, nil
}

// came is what became of some actions.
func (l *Loop) came(of []fleet.Action) []fleet.Result {
	return slices.DeleteFunc(l.results.peekJournal(), func(r fleet.Result) bool {
		return !slices.ContainsFunc(of, func(a fleet.Action) bool { return a.ID == r.ActionID })
	})
}
