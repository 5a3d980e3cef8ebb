package view

import (
	"cmp"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
)

// byItself parts what is going to be done, or waits for nothing but a person's word, from
// what something else holds back: by the plan that a patrol follows, which no person's approval
// has changed.
func byItself(p fleet.Pass) (planned []fleet.Action, skipped []fleet.Skipped) {
	for _, a := range p.Plan.Actions {
		if k := heldBy(p.Itself, a); k != nil {
			skipped = append(skipped, *k)
			continue
		}
		planned = append(planned, a)
	}
	for _, k := range p.Plan.Skipped {
		switch held := heldBy(p.Itself, k.Action); {
		case held != nil:
			skipped = append(skipped, *held)
		case plans(p.Itself, k.Action):
			planned = append(planned, k.Action)
		default:
			skipped = append(skipped, k)
		}
	}
	return planned, skipped
}

// heldBy is what holds back an action that an approval would set going; nil when nothing but
// the want of that word does.
func heldBy(itself *fleet.Plan, a fleet.Action) *fleet.Skipped {
	if itself == nil {
		return nil
	}
	for i, k := range itself.Skipped {
		if wishesFor(k.Action, a) && k.Guard != fleet.GuardMode && k.Guard != fleet.GuardApproval {
			return &itself.Skipped[i]
		}
	}
	return nil
}

// deed is an action with what holds it back without a person's approval, and how to give that.
func deed(p fleet.Pass, a fleet.Action, t Teller) api.Deed {
	d := Deed(a, t)
	k := heldBy(p.Itself, a)
	if k == nil && p.Itself != nil && !plans(p.Itself, a) {
		k = wants(p, a)
	}
	if k != nil {
		held := Refusal(*k)
		d.Held = &held
	}
	return d
}

// wants is the want of a person's word, which an alert on record is given by its number.
func wants(p fleet.Pass, a fleet.Action) *fleet.Skipped {
	i := slices.IndexFunc(p.Itself.Skipped, func(k fleet.Skipped) bool { return wishesFor(k.Action, a) })
	if i < 0 {
		return nil
	}
	k := p.Itself.Skipped[i]
	for _, al := range p.Assessment.Alerts {
		if al.AlertKey == a.For && al.Number > 0 && p.Past.NextAlert > al.Number {
			k.Hint = fmt.Sprintf("custos approve %d", al.Number)
		}
	}
	return &k
}

// plans says whether an action is done without a person's approval.
func plans(itself *fleet.Plan, a fleet.Action) bool {
	return itself != nil && slices.ContainsFunc(itself.Actions, func(of fleet.Action) bool { return wishesFor(of, a) })
}

// wishesFor says whether two actions are one: what a rule wishes for on one thing.
func wishesFor(a, b fleet.Action) bool {
	return a.Do == b.Do && a.Subject == b.Subject && a.For == b.For
}

// heldOrders are the orders that wait, as records that stay where they are, by what goes on
// without a person's approval.
func heldOrders(p fleet.Pass, of func(fleet.Order) bool) (out []fleet.HeldMove) {
	plan := &p.Plan
	if p.Itself != nil {
		plan = p.Itself
	}
	for _, o := range p.Past.Orders {
		if i := slices.IndexFunc(plan.Orders, func(now fleet.Order) bool { return now.ID == o.ID }); i >= 0 {
			o = plan.Orders[i]
		}
		if o.State == fleet.OrderQueued && o.Guard != "" && of(o) {
			stays := fleet.Move{Record: fleet.Subject{Kind: fleet.KindOrder, Name: o.ID}, From: string(o.State), To: string(fleet.OrderOpen), Why: string(o.Do) + " " + cmp.Or(o.Agent, o.Account)}
			out = append(out, fleet.HeldMove{Move: stays, Guard: o.Guard, Held: o.Why, Until: o.Until, Hint: o.Hint})
		}
	}
	return out
}

// pendingRecovery lists the recoveries that are planned, or held back.
func pendingRecovery(p fleet.Pass) (out []api.Pending) {
	planned, skipped := byItself(p)
	add := func(a fleet.Action, state, why string, until fleet.Instant, also []string) {
		if a.Do == "recover" && a.Subject.Kind == fleet.KindAgent {
			from := endedAt(p, a.Subject.Name)
			out = append(out, api.Pending{Agent: a.Subject.Name, What: a.Do, State: state, Since: from.Wall.UTC(),
				For: Since(p.Snapshot.At, from), Why: why, Until: Moment(until), Also: also})
		}
	}
	for _, a := range planned {
		add(a, "planned", a.Why, fleet.Instant{}, nil)
	}
	for _, k := range skipped {
		add(k.Action, "held back", string(k.Guard)+": "+k.Reason(), k.Until, k.Also)
	}
	return out
}

// endedAt is since when an agent does not run, as far as it is recorded.
func endedAt(p fleet.Pass, name string) fleet.Instant {
	for _, r := range p.Past.Registrations {
		if r.Name == name && r.Exit != nil && !r.Exit.At.IsZero() {
			return r.Exit.At
		}
	}
	return p.Snapshot.At
}
