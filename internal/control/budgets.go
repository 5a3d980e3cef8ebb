package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/nearest"
	"custos/internal/view"
)

// budgets are raised and lowered by a person.
func budgets() Noun {
	return Noun{"budgets", []Verb{{Name: "list", Access: Anyone, Do: asks((*Control).listBudgets)}, {Name: "add", Access: Person, Do: given((*Control).raise)}}}
}

// Budgets is the book of what people raised budgets by.
type Budgets interface {
	// Limits lists the budgets in force.
	Limits() []fleet.Budget
	// Raise writes raises down, or their ends, and has a pass judge what that changes.
	Raise(ctx context.Context, list []fleet.Silence, event fleet.Event) error
}

func (c *Control) listBudgets(ctx context.Context, _ Call) (api.Budgets, error) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return api.Budgets{}, err
	}
	return view.Budgets(&pass.Snapshot), nil
}

// longestRaise keeps a slip of the keyboard from raising a budget for good: that is for custos.toml.
const longestRaise = 31 * 24 * time.Hour

func (c *Control) raise(ctx context.Context, call Call, o api.RaiseOrder) (api.Raised, error) {
	b, err := c.budgetOf(o.Name)
	if err != nil {
		return api.Raised{}, err
	}
	if o.Lower {
		return c.lower(ctx, call, o, b)
	}
	r, err := raiseOf(o, b, c.Now())
	if err != nil {
		return api.Raised{}, api.AsBadInput(err)
	}
	r.By = call.By
	err = c.Budgets.Raise(ctx, []fleet.Silence{r.Silence()}, fleet.Event{Kind: "budget.raised", Subject: fleet.Subject{Kind: fleet.KindBudget, Name: o.Name},
		Text: fmt.Sprintf("raised by %s until %s by %s%s", r, r.Until.Wall.UTC().Format(time.RFC3339), r.By, because(r.Why))})
	return api.Raised{Name: o.Name, By: r.String(), Until: r.Until.Wall.UTC(), Who: r.By}, err
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func raiseOf(o api.RaiseOrder, b *fleet.Budget, now fleet.Instant) (fleet.Raise, error) {
	m, amount, err := fleet.ParseRaise(o.By)
	if err != nil {
		return fleet.Raise{}, err
	}
	if b.Limit(m) <= 0 {
		return fleet.Raise{}, fmt.Errorf("cannot raise budget %s by %s: it has no limit of that", b.Name, fleet.Raise{Metric: m, Amount: amount})
	}
	d, err := time.ParseDuration(o.For)
	if err != nil || d <= 0 || d > longestRaise {
		return fleet.Raise{}, fmt.Errorf("cannot raise budget %s for %q: want a time up to 31 days, like 2h; for good, change its limit in custos.toml", b.Name, fleet.Line(o.For, 40))
	}
	return fleet.Raise{Name: o.Name, Metric: m, Amount: amount, Why: fleet.Line(fleet.Redact(o.Why), 200), From: now, Until: now.Add(d)}, nil
}

// lower ends what a budget was raised by.
func (c *Control) lower(ctx context.Context, call Call, o api.RaiseOrder, b *fleet.Budget) (api.Raised, error) {
	past, err := c.Past(ctx)
	if err != nil {
		return api.Raised{}, err
	}
	now := c.Now()
	var list []fleet.Silence
	for _, r := range fleet.Raises(past.Silences, now) {
		if r.Name == o.Name || o.Name == b.Name && strings.HasPrefix(r.Name, b.Name+"/") {
			list = append(list, r.End(now, call.By))
		}
	}
	if len(list) == 0 {
		return api.Raised{}, &api.Error{Kind: api.BadInput, Message: "cannot lower budget " + o.Name + ": it is not raised", Hint: "custos budget show " + o.Name}
	}
	err = c.Budgets.Raise(ctx, list, fleet.Event{Kind: "budget.lowered", Subject: fleet.Subject{Kind: fleet.KindBudget, Name: o.Name}, Text: "what it was raised by was ended by " + call.By})
	return api.Raised{Name: o.Name, Ended: len(list), Who: call.By}, err
}

// budgetOf finds the budget that a name is of, or of an allowance of which it is.
func (c *Control) budgetOf(name string) (*fleet.Budget, error) {
	var names []string
	all := c.Budgets.Limits()
	for i := range all {
		b := &all[i]
		names = append(names, b.Name)
		of, isAllowance := strings.CutPrefix(name, b.Name+"/")
		if name == b.Name || isAllowance && b.By != fleet.SpendByFleet && of != "" && b.Matches(of) {
			return b, nil
		}
	}
	slices.Sort(names)
	return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find budget %q: custos.toml has no such section%s", fleet.Line(name, 80), nearest.Hint(name, names)), Hint: "custos budget"}
}
