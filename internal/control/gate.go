package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// gates may be added by anyone in their own name, with a command by a person only; an agent
// closes its own (ledger.CloseGate).
func gates() Noun {
	return Noun{"gates", []Verb{
		{Name: "list", Do: asks((*Control).gateList)},
		{Name: "add", Access: Author, Do: given((*Control).addGate)},
		{Name: "show", Do: asks((*Control).gateShown)},
		{Name: "close", Access: Author, Do: given((*Control).closeGate)},
	}}
}

// gateList lists the gates that are open, or all there are.
func (c *Control) gateList(ctx context.Context, call Call) (api.GateList, error) {
	views, err := c.gatesSeen(ctx, "")
	all := call.Ask("all") != ""
	out := api.GateList{At: c.Now().Wall.UTC(), Gates: []api.Gate{}, Next: []api.Hint{}}
	for _, g := range views {
		if all || g.State == string(fleet.GateOpen) {
			out.Gates = append(out.Gates, g)
		}
	}
	if i := slices.IndexFunc(out.Gates, func(g api.Gate) bool { return g.Type == string(fleet.GateHuman) && g.State == string(fleet.GateOpen) }); i >= 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos gate close " + out.Gates[i].ID + " --why REASON", What: "a person's word is waited for"})
	}
	return out, err
}

func (c *Control) gateViews(ctx context.Context) (out []api.Gate, err error) {
	all, facts, err := c.records(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]fleet.GateFacts{}
	for _, g := range facts.Gates {
		seen[g.ID] = g
	}
	for _, g := range all.Gates {
		out = append(out, gateView(g, seen[g.ID]))
	}
	return out, nil
}

func gateView(g fleet.Gate, f fleet.GateFacts) api.Gate {
	v := api.Gate{ID: g.ID, Type: string(g.Type), Title: g.Title, Project: g.Project, State: string(g.State), Outcome: g.Outcome, Why: g.Why,
		Until: g.Until.Wall.UTC(), On: g.On, When: g.When, Check: fleet.RedactArgs(g.Check), Of: string(g.Of), Run: g.Run, From: g.From, To: g.To, Subject: g.Subject,
		Waiters: append([]string{}, g.Waiters...), Step: g.Step, Due: g.Due.Wall.UTC(), By: g.By, At: g.At.Wall.UTC(), ClosedBy: g.Closer}
	if g.Timeout > 0 {
		v.Timeout = g.Timeout.String()
	}
	if g.Over() {
		v.ClosedAt = g.Since.Wall.UTC()
		return v
	}
	v.Why, v.Blind, v.Closing = f.Why, f.Blind, f.Closing
	if f.Overdue > 0 {
		v.Overdue = f.Overdue.String()
	}
	return v
}

func (c *Control) gateShown(ctx context.Context, call Call) (api.Gate, error) {
	views, err := c.gatesSeen(ctx, call.ID)
	if err != nil {
		return api.Gate{}, err
	}
	return gateOf(views, call.ID)
}

// gatesSeen are the gates, and without a daemon looks first where what the one with the ID
// ("": any) waits for is not seen: so they are told as plan tells them.
func (c *Control) gatesSeen(ctx context.Context, id string) ([]api.Gate, error) {
	views, err := c.gateViews(ctx)
	if err != nil || c.Watched || !slices.ContainsFunc(views, func(g api.Gate) bool { return g.Blind && (id == "" || g.ID == id) }) {
		return views, err
	}
	_, _ = c.Look(ctx, Whole) // what it could not see stays not seen
	return c.gateViews(ctx)
}

func (c *Control) findGate(ctx context.Context, id string) (api.Gate, error) {
	views, err := c.gateViews(ctx)
	if err != nil {
		return api.Gate{}, err
	}
	return gateOf(views, id)
}

func gateOf(views []api.Gate, id string) (api.Gate, error) {
	i := slices.IndexFunc(views, func(g api.Gate) bool { return g.ID == id })
	if i < 0 {
		return api.Gate{}, noGate(id, each(views, func(g api.Gate) string { return g.ID }))
	}
	return views[i], nil
}

func noGate(id string, known []string) error {
	return missing("gate", id, known, "custos gate list --all")
}

// addGate writes a new gate down.
func (c *Control) addGate(ctx context.Context, call Call, r api.GateRequest) (api.Gate, error) {
	now := c.Now()
	g, err := c.gateAsked(r, now)
	if err != nil {
		return api.Gate{}, api.AsBadInput(fmt.Errorf("cannot add a gate: %w", err))
	}
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		g, err := ledger.AddGate(all, g, call.By, now)
		return fleet.Records{Gates: []fleet.Gate{g}}, err
	})
	if err != nil {
		return api.Gate{}, err
	}
	return c.findGate(ctx, made.Gates[0].ID)
}

// gateAsked is the gate that a request means.
func (c *Control) gateAsked(r api.GateRequest, now fleet.Instant) (g fleet.Gate, err error) {
	g = fleet.Gate{Head: fleet.Head{Key: OwnKey(r.Key)}, Type: fleet.GateType(r.Type), Title: r.Title, Project: r.Project, On: r.On, When: r.When, Check: r.Check,
		Of: fleet.Ref(r.Of), Run: r.Run, From: r.From, To: r.To, Subject: r.Subject, Waiters: r.Waiters}
	if types := texts(fleet.GateTypes()); !slices.Contains(types, r.Type) {
		return g, fmt.Errorf("there is no type %q%s", fleet.Line(r.Type, 40), nearest.Hint(r.Type, types))
	}
	if err := c.ruleIsThere(r.On); err != nil {
		return g, err
	}
	if g.Until, err = momentOf("until", r.Until, r.For, now); err != nil {
		return g, err
	}
	if g.Due, err = momentOf("due", r.Due, r.DueIn, now); err != nil {
		return g, err
	}
	g.Timeout, err = spanOf("timeout", r.Timeout)
	return g, err
}

// ruleIsThere refuses an event of a rule that there is not.
func (c *Control) ruleIsThere(on string) error {
	rule, is := ledger.AlertEvent(on)
	if !is || c.Rules == nil {
		return nil
	}
	known := c.ruleNames()
	if slices.Contains(known, rule) {
		return nil
	}
	return fmt.Errorf("there is no rule %q%s", fleet.Line(rule, 80), nearest.Hint(rule, known))
}

// closeGate closes a gate by hand, and notifies who waits for it.
func (c *Control) closeGate(ctx context.Context, call Call, r api.GateClosing) (api.Gate, error) {
	id := call.ID
	_, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		g := ledger.Gate(all, id)
		if g == nil {
			return fleet.Records{}, noGate(id, each(all.Gates, func(g fleet.Gate) string { return g.ID }))
		}
		return ledger.CloseGate(*g, cmp.Or(r.As, fleet.GatePassed), r.Why, call.By, c.Now())
	})
	if err != nil {
		return api.Gate{}, err
	}
	return c.findGate(ctx, id)
}
