package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"custos/internal/assess"
	"custos/internal/decide"
	"custos/internal/fleet"
)

// Offer is what one alert's finding would lead to, if a person approved of it.
type Offer struct {
	For     fleet.AlertKey
	Actions []fleet.Action
	Refused string // why there is none of them, even so
}

// ErrNothingOffered says that nothing may be done about an alert, even with a
// person's approval; what wraps it says why.
var ErrNothingOffered = errors.New("nothing may be done")

// Offers lists what waits for a person's approval and for nothing else, and the
// pass in which it does. It writes and changes nothing.
func (l *Loop) Offers(ctx context.Context, by string) (fleet.Pass, []Offer, error) {
	p, err := l.think(ctx, false, fleet.PatrolOrder{})
	if err != nil {
		return p, nil, err
	}
	approved := l.o.Policy(fleet.PatrolOrder{Apply: true, By: by})
	var out []Offer
	for _, key := range waiting(p.Plan) {
		out = append(out, offer(p, approved, key))
	}
	return p, out, nil
}

// waiting lists the alerts for which something waits for approval.
func waiting(plan fleet.Plan) (keys []fleet.AlertKey) {
	for _, s := range plan.Skipped {
		if (s.Guard == fleet.GuardApproval || s.Guard == fleet.GuardMode) && s.Order == "" && !slices.Contains(keys, s.For) {
			keys = append(keys, s.For)
		}
	}
	return keys
}

// offer thinks about one finding alone: what others lead to takes no room from it.
func offer(p fleet.Pass, approved fleet.Policy, key fleet.AlertKey) Offer {
	found := p.Assessment
	found.Findings = slices.DeleteFunc(slices.Clone(found.Findings), func(f fleet.Finding) bool { return f.AlertKey != key })
	plan := decide.Decide(approved, p.Snapshot, found, p.Past)
	out := Offer{For: key}
	for _, a := range plan.Actions {
		if a.For == key && a.Order == "" && !approved.Abilities[a.Do].Harmless {
			out.Actions = append(out.Actions, a)
		}
	}
	for _, s := range plan.Skipped {
		if s.For == key && s.Order == "" && len(out.Actions) == 0 && out.Refused == "" {
			out.Refused = fmt.Sprintf("%s: %s", s.Guard, s.Why)
		}
	}
	return out
}

// Approve has done what one alert's finding leads to, and nothing else, because a
// person approves of it. consent is shown it exactly as it would be done, and
// returns the messages that are committed with it; with an error nothing is done.
// It does not wait for the actions.
func (l *Loop) Approve(ctx context.Context, key fleet.AlertKey, by string, consent func([]fleet.Action) ([]fleet.Message, error)) error {
	l.turns.Lock()
	defer l.turns.Unlock()
	seen := l.o.Board.Snapshot()
	past, err := l.o.History.Past(ctx, seen.At)
	if err != nil {
		return fmt.Errorf("cannot recall the past: %w", err)
	}
	approved := l.o.Policy(fleet.PatrolOrder{Apply: true, By: by})
	p := fleet.Pass{Snapshot: seen, Past: past, Policy: approved, Assessment: assess.Assess(l.o.Rules, seen, past)}
	o := offer(p, approved, key)
	if len(o.Actions) == 0 {
		return fmt.Errorf("%w: %s", ErrNothingOffered, o.Refused)
	}
	messages, err := consent(o.Actions)
	if err != nil {
		return err
	}
	for i := range o.Actions {
		o.Actions[i].Approved = by
	}
	turn := fleet.Turn{At: seen.At, Plan: fleet.Plan{At: seen.At, Actions: o.Actions}, Outbox: messages}
	if err := l.o.Act.Start(ctx, turn); err != nil {
		return fmt.Errorf("cannot start what was approved: %w", err)
	}
	l.Wake("approval")
	return nil
}
