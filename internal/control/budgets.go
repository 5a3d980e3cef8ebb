package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger/allowance"
	"custos/internal/nearest"
	"custos/internal/view"
)

// budgets are raised and lowered by a person.
func budgets() Noun {
	return Noun{"budgets", []Verb{{Name: "list", Access: Anyone, Do: asks((*Control).listBudgets)}, {Name: "add", Access: Person, Do: given((*Control).raise)},
		{Name: "left", Access: Author, Do: asks((*Control).spendLeft)}}}
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
	return view.Budgets(&pass.Snapshot, len(c.Budgets.Limits()) > 0), nil
}

// spendLeft is read by an agent for itself, and by anyone for the agent that is named: the same stands
// in ps and in the list of budgets.
func (c *Control) spendLeft(ctx context.Context, call Call) (api.SpendLeft, error) {
	name := call.Ask("agent")
	own, is := fleet.AgentOf(call.By)
	switch {
	case name != "":
	case call.Doubt != nil:
		return api.SpendLeft{}, &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot tell what is left for %v", call.Doubt), Hint: "custos budget left NAME"}
	case !is:
		return api.SpendLeft{}, &api.Error{Kind: api.BadInput, Message: "cannot tell what is left: you are no agent, so name one", Hint: "custos ps"}
	default:
		name = own
	}
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return api.SpendLeft{}, CannotLook(err)
	}
	reg, err := c.registration(ctx, name)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return api.SpendLeft{}, err
	}
	a, err := findAgent("tell what is left for", name, &pass.Snapshot, reg)
	if err != nil {
		return api.SpendLeft{}, err
	}
	who := fleet.SpenderOf(reg, &a, pass.Past.Records.Working())
	a.Quota = allowance.PlanOf(who.Account, a.Quota, pass.Past.Quotas)
	return view.SpendLeft(a, allowance.Of(pass.Past, c.Budgets.Limits(), pass.Snapshot, who), &pass.Snapshot, len(c.Budgets.Limits()) > 0), nil
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
	if err := c.knowsWhose(ctx, b, o.Name); err != nil {
		return api.Raised{}, err
	}
	r, err := raiseOf(o, b, c.Now())
	if err != nil {
		return api.Raised{}, api.AsBadInput(err)
	}
	if done, is, err := c.raisedBefore(ctx, r); is || err != nil {
		return raised(done), err
	}
	r.By = call.By
	err = c.Budgets.Raise(ctx, []fleet.Silence{r.Silence()}, fleet.Event{Kind: "budget.raised", Subject: fleet.Subject{Kind: fleet.KindBudget, Name: o.Name},
		Text: fmt.Sprintf("raised by %s until %s by %s%s", r, r.Until.Wall.UTC().Format(time.RFC3339), r.By, because(r.Why))})
	return raised(r), err
}

// raisedBefore finds the raise that an order which comes again made the first time.
func (c *Control) raisedBefore(ctx context.Context, r fleet.Raise) (done fleet.Raise, is bool, err error) {
	if r.Key == "" {
		return r, false, nil
	}
	past, err := c.Past(ctx)
	if err != nil {
		return r, false, err
	}
	done, is = fleet.RaiseOf(past.Silences, r.Name, r.Key)
	return done, is, nil
}

func raised(r fleet.Raise) api.Raised {
	return api.Raised{Name: r.Name, By: r.String(), Until: r.Until.Wall.UTC(), Who: r.By}
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
		limits, by := b.Limits()
		return fleet.Raise{}, fmt.Errorf("cannot raise budget %s by %s: it limits %s, so write %s", b.Name, fleet.Raise{Metric: m, Amount: amount}, limits, by)
	}
	if len(o.Key) > 64 || strings.ContainsFunc(o.Key, unicode.IsSpace) {
		return fleet.Raise{}, fmt.Errorf("cannot raise budget %s: its key %q is no word of at most 64 letters", b.Name, fleet.Line(o.Key, 40))
	}
	d, err := time.ParseDuration(o.For)
	if err != nil || d <= 0 || d > longestRaise {
		return fleet.Raise{}, fmt.Errorf("cannot raise budget %s for %q: want a time up to 31 days, like 2h; for good, change its limit in custos.toml", b.Name, fleet.Line(o.For, 40))
	}
	return fleet.Raise{Name: o.Name, Metric: m, Amount: amount, Why: fleet.Line(fleet.Redact(o.Why), 200), Key: o.Key, From: now, Until: now.Add(d)}, nil
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

// knowsWhose refuses an allowance of nobody: none that anything was spent of, and of no agent that is known. Where not all
// is seen, nobody can tell.
func (c *Control) knowsWhose(ctx context.Context, b *fleet.Budget, name string) error {
	of, isAllowance := strings.CutPrefix(name, b.Name+"/")
	if !isAllowance || of == b.Of {
		return nil
	}
	pass, err := c.Look(ctx, Glance)
	if err != nil || !pass.Snapshot.Spending.Usable() || !pass.Snapshot.Agents.Usable() || pass.Past.Blind != "" {
		return err
	}
	known := allowance.Spenders(b, pass.Past, pass.Snapshot)
	if slices.Contains(known, of) {
		return nil
	}
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot raise budget %q: no %s is known that is called %q%s", fleet.Line(name, 80), b.By, fleet.Line(of, 80), nearest.Hint(of, known)), Hint: "custos budget"}
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
