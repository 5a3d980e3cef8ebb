package loop

import (
	"context"
	"fmt"

	"custos/internal/fleet"
)

// Ask has done what somebody asks for by name, and nothing else: want says what that
// is, given what is seen, as a finding of its own, and every guard is asked. A
// person's word is an approval of it; an agent's is none, so that the fleet's mode
// decides. nil of want: it is so already. Ask waits for the first looks at the parts that
// this rests on, and for no other's; it does not wait for the action.
func (l *Loop) Ask(ctx context.Context, by string, want func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error), on ...fleet.PartName) ([]fleet.Action, error) {
	l.o.Board.Await(ctx, on...)
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
		p.Assessment.Findings = []fleet.Finding{*f}
		return nil, fmt.Errorf("%w: %s", ErrNothingOffered, refused(p, plan, f.AlertKey))
	}
	for i := range plan.Actions {
		plan.Actions[i].By, plan.Actions[i].Approved = by, p.Policy.ApprovedBy
	}
	if err := l.start(ctx, p, plan.Actions, nil); err != nil {
		return nil, fmt.Errorf("cannot start what was asked for: %w", err)
	}
	l.Wake("somebody asked for it")
	return plan.Actions, nil
}

// asked is what the guards say of that one finding. Its rule may act by itself: how
// far anything may go is the fleet's mode.
func asked(p fleet.Pass, f fleet.Finding) fleet.Plan {
	p.Assessment.Findings, p.Assessment.Rules = []fleet.Finding{f}, map[string]fleet.Remedy{f.Rule: {Mode: fleet.ModeAuto}}
	return Mending(p, []fleet.AlertKey{f.AlertKey})
}
