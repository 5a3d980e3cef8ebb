package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	approved.Runs = p.Policy.Runs
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

// offer thinks about one finding alone, as if a person had approved.
func offer(p fleet.Pass, approved fleet.Policy, key fleet.AlertKey) Offer {
	p.Policy, p.Policy.Singly = approved, true
	plan := Mending(p, []fleet.AlertKey{key})
	out := Offer{For: key, Actions: slices.DeleteFunc(plan.Actions, func(a fleet.Action) bool { return approved.Abilities[a.Do].Harmless })}
	if len(out.Actions) == 0 {
		out.Refused = refused(p, plan, key)
	}
	return out
}

// refused says why there is nothing to do about one finding: what holds it back, or
// that nobody asks for anything.
func refused(p fleet.Pass, plan fleet.Plan, key fleet.AlertKey) string {
	for _, s := range plan.Skipped {
		return fmt.Sprintf("%s: %s", s.Guard, s.Reason())
	}
	at := slices.IndexFunc(p.Assessment.Findings, func(f fleet.Finding) bool { return f.AlertKey == key })
	i := slices.IndexFunc(p.Assessment.Blind, func(b fleet.CannotTell) bool {
		return b.Rule == key.Rule && (b.Subject == key.Subject || b.Subject.Kind == fleet.KindPart)
	})
	switch {
	case i >= 0:
		return "whether " + key.String() + " is still so cannot be told: " + p.Assessment.Blind[i].Why
	case at < 0:
		return key.String() + " is not found any more"
	case !p.Assessment.Findings[at].Firing:
		return key.String() + " has not fired yet: its rule waits until it has been so for long enough"
	case len(plan.Actions) > 0:
		return "all that it leads to is a message, which needs no approval"
	}
	return key.String() + " leads to no action"
}

// Offer is what Approve would begin for one alert, and the pass in which it would. It
// writes and changes nothing.
func (l *Loop) Offer(ctx context.Context, key fleet.AlertKey, by string) (fleet.Pass, Offer, error) {
	p, err := l.think(ctx, false, fleet.PatrolOrder{Apply: true, By: by})
	if err != nil {
		return p, Offer{For: key}, err
	}
	return p, offer(p, p.Policy, key), nil
}

// Approve has done what one alert's finding leads to, and nothing else, because a
// person approves of it. consent is shown it exactly as it would be done, and
// returns the messages that are committed with it; with an error nothing is done.
// It waits for the first looks that this rests on, and not for the actions.
func (l *Loop) Approve(ctx context.Context, key fleet.AlertKey, by string, consent func([]fleet.Action) ([]fleet.Message, error)) error {
	return l.answered(ctx, key, by, func(_ fleet.Pass, o Offer) ([]fleet.Action, []fleet.Message, error) {
		messages, err := consent(o.Actions)
		return o.Actions, messages, err
	})
}

// Deny has done what is done instead of what one alert's finding leads to
// (fleet.Ability.Denied), because a person denies that. consent is shown what was denied,
// exactly as it would be done, and what is begun instead; otherwise it is as Approve.
func (l *Loop) Deny(ctx context.Context, key fleet.AlertKey, by string, consent func(denied, instead []fleet.Action) ([]fleet.Message, error)) error {
	return l.answered(ctx, key, by, func(p fleet.Pass, o Offer) ([]fleet.Action, []fleet.Message, error) {
		instead, refused := denial(p, key)
		if len(instead) == 0 {
			return nil, nil, fmt.Errorf("%w: %s", ErrNothingOffered, refused)
		}
		messages, err := consent(o.Actions, instead)
		return instead, messages, err
	})
}

// denial is what is done about one finding when a person denies what it leads to; or why
// nothing is.
func denial(p fleet.Pass, key fleet.AlertKey) ([]fleet.Action, string) {
	p.Assessment.Findings = slices.Clone(p.Assessment.Findings)
	for i := range p.Assessment.Findings {
		f := &p.Assessment.Findings[i]
		if f.AlertKey != key {
			continue
		}
		f.Wishes = slices.Clone(f.Wishes)
		for j := range f.Wishes {
			f.Wishes[j].Do = p.Policy.Abilities[f.Wishes[j].Do].Denied
		}
		f.Wishes = slices.DeleteFunc(f.Wishes, func(w fleet.Wish) bool { return w.Do == "" })
	}
	o := offer(p, p.Policy, key)
	return o.Actions, o.Refused
}

// answered begins what begin returns of what an alert offers, because a person answered.
func (l *Loop) answered(ctx context.Context, key fleet.AlertKey, by string, begin func(fleet.Pass, Offer) ([]fleet.Action, []fleet.Message, error)) error {
	l.o.Board.Await(ctx, l.restsOn(key)...)
	l.turns.Lock()
	defer l.turns.Unlock()
	p, o, err := l.Offer(ctx, key, by)
	if err != nil {
		return err
	}
	if len(o.Actions) == 0 {
		return fmt.Errorf("%w: %s", ErrNothingOffered, o.Refused)
	}
	actions, messages, err := begin(p, o)
	if err != nil {
		return err
	}
	for i := range actions {
		actions[i].Approved = by
	}
	if err := l.start(ctx, p, actions, messages); err != nil {
		return fmt.Errorf("cannot start what was approved: %w", err)
	}
	l.Wake("approval")
	return nil
}

// restsOn lists the parts that what an alert leads to is judged by: what its rule reads,
// what is acted on, and the agents that may stand in the way.
func (l *Loop) restsOn(key fleet.AlertKey) []fleet.PartName {
	parts := []fleet.PartName{fleet.PartAgents, fleet.PartHost, fleet.PartOf(key.Subject.Kind)}
	r := l.o.Rules.Rule(key.Rule)
	if r == nil {
		return parts
	}
	for _, a := range r.Actions {
		parts = append(parts, fleet.PartOf(a.Kind(r.Over)))
	}
	return append(parts, r.Parts()...)
}

// start commits some actions of a pass, with what is told of them, and starts them.
func (l *Loop) start(ctx context.Context, p fleet.Pass, actions []fleet.Action, told []fleet.Message) error {
	plan := p.Plan.Only(actions)
	plan.Messages = told
	return l.o.Act.Start(ctx, plan.Turn())
}
