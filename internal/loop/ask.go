package loop

import (
	"context"
	"fmt"

	"custos/internal/decide"
	"custos/internal/fleet"
)

// Ask has done what somebody asks for by name, and nothing else: want says what that
// is, given what is seen, as a finding of its own, and every guard is asked. A
// person's word is an approval of it; an agent's is none, so that the fleet's mode
// decides. nil of want: it is so already. Ask does not wait for the action.
func (l *Loop) Ask(ctx context.Context, by string, want func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error)) ([]fleet.Action, error) {
	l.turns.Lock()
	defer l.turns.Unlock()
	p, err := l.think(ctx, false, fleet.PatrolOrder{Apply: fleet.IsPerson(by), By: by})
	if err != nil {
		return nil, err
	}
	f, err := want(p.Past, p.Snapshot)
	if err != nil || f == nil {
		return nil, err
	}
	plan := asked(p, *f)
	if len(plan.Actions) == 0 {
		return nil, refusedAsk(plan)
	}
	for i := range plan.Actions {
		plan.Actions[i].By, plan.Actions[i].Approved = by, p.Policy.ApprovedBy
	}
	turn := fleet.Turn{At: p.Snapshot.At, Plan: fleet.Plan{At: plan.At, Actions: plan.Actions}}
	if err := l.o.Act.Start(ctx, turn); err != nil {
		return nil, fmt.Errorf("cannot start what was asked for: %w", err)
	}
	l.Wake("somebody asked for it")
	return plan.Actions, nil
}

// asked is what the guards say of that one finding. Its rule may act by itself: how
// far anything may go is the fleet's mode.
func asked(p fleet.Pass, f fleet.Finding) fleet.Plan {
	found := p.Assessment
	found.Findings, found.Rules = []fleet.Finding{f}, map[string]fleet.Remedy{f.Rule: {Mode: fleet.ModeAuto}}
	plan := decide.Decide(p.Policy, p.Snapshot, found, p.Past)
	out := fleet.Plan{At: plan.At}
	for _, a := range plan.Actions {
		if a.For == f.AlertKey && a.Order == "" {
			out.Actions = append(out.Actions, a)
		}
	}
	for _, s := range plan.Skipped {
		if s.For == f.AlertKey && s.Order == "" {
			out.Skipped = append(out.Skipped, s)
		}
	}
	return out
}

func refusedAsk(plan fleet.Plan) error {
	for _, s := range plan.Skipped {
		return fmt.Errorf("%w: %s: %s", ErrNothingOffered, s.Guard, s.Why)
	}
	return ErrNothingOffered
}
