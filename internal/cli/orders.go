package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) ordersCommand() *cobra.Command {
	c := a.brake(&cobra.Command{
		Use: "orders", Short: "What was ordered and is not carried out yet; cancel takes it back",
		Long: `orders lists what people, agents and Custos itself ordered that is not over: who
gave it, what holds it, and until when. An order that is taken and held back ends
its command with exit code 4.`,
		Example: "  custos orders\n  custos orders cancel 0a1b2c3d4e5f6071",
		RunE:    asksFor(a, (*api.Client).Orders, writeOrders),
	})
	c.AddCommand(a.brake(&cobra.Command{
		Use: "show ID", Short: "What became of one order, also when it is over",
		Long: `show says of one order who gave it and when, what became of it, and of a nudge or an
answer whether it was delivered and what proves it; of a nudge also what became of the
turn that it began: answered, failed (and by what), interrupted, or still under way. An order that is over is kept for
30 days.`,
		Example: "  custos orders show 0a1b2c3d4e5f6071",
		RunE:    asksOne(a, orderShown, writeOneOrder),
	}), a.brake(&cobra.Command{
		Use: "cancel ID", Short: "Take back an order that is not carried out yet",
		Long: `cancel ends an order before it is carried out, and undoes what it had changed
already: an agent whose stop is taken back is wanted running again. What is under
way, or over, cannot be taken back.`,
		Example: "  custos orders cancel 0a1b2c3d4e5f6071",
		RunE:    asksOne(a, (*api.Client).CancelOrder, func(p *page, o api.Order) { p.text(0, "Cancelled: "+deedOf(o)) }),
	}), a.brake(&cobra.Command{
		Use: "approve ID", Short: "Have done what a person at another host of the hub ordered",
		Long: `approve has an order carried out that a person at another host gave, where this host wants
a person here to approve of it first (remote = "ask" in [hub]): custos orders show ID says
exactly what it is. The guards hold as for any order. cancel refuses it; what nobody approves
of within a day, or the time that was given with it, expires.`,
		Example: "  custos orders approve 0a1b2c3d4e5f6071",
		RunE: func(cmd *cobra.Command, args []string) error {
			var o api.Order
			err := asksOne(a, func(c *api.Client, ctx context.Context, id string) (_ api.Order, err error) {
				o, err = c.ApproveOrdered(ctx, id)
				return o, err
			}, writeOneOrder)(cmd, args)
			return cmp.Or(err, letDone(o))
		},
	}))
	return c
}

// letDone fails where an order that was approved of is held back, or comes to nothing.
func letDone(o api.Order) error {
	if o.Action != "" {
		return nil
	}
	return cameToNothing([]api.Order{o})
}

// orderShown is an order, and of one that waits for a person's word exactly what it is, where a person asks here.
func orderShown(c *api.Client, ctx context.Context, id string) (api.Order, error) {
	o, err := c.OrderState(ctx, id)
	if err != nil || o.State != "asked" {
		return o, err
	}
	whole, err := c.AskedOrder(ctx, id)
	if e := api.Found(err); e != nil && e.Kind == api.Forbidden {
		return o, nil
	}
	return whole, err
}

func writeOrders(p *page, v api.Orders) {
	if len(v.Orders) == 0 {
		p.line("Nothing is ordered that is not carried out.")
		return
	}
	for _, o := range v.Orders {
		age := v.At.Sub(o.At).Round(time.Second).String()
		p.line("%s  %s  by %s, %s ago", flat(o.ID), p.paint(bold, deedOf(o)), flat(o.By), api.Span(age))
		why := strings.TrimSpace(o.State + ": " + reasonOf(o))
		if o.Action != "" {
			why = "under way"
		}
		if o.Until != nil {
			why += ", not before " + due(*o.Until, v.At)
		}
		p.text(4, why)
	}
	next := []api.Hint{{Command: "custos orders cancel ID", What: "take one back"}}
	if !p.foreign && slices.ContainsFunc(v.Orders, func(o api.Order) bool { return o.State == "asked" }) {
		next = append(next, api.Hint{Command: "custos orders show ID", What: "exactly what another host asks for"}, api.Hint{Command: "custos orders approve ID", What: "have it done"})
	}
	p.next(next)
}

// writeOneOrder says what became of an order, whatever it is.
func writeOneOrder(p *page, o api.Order) {
	p.line("%s  %s  by %s, %s", flat(o.ID), p.paint(bold, deedOf(o)), flat(o.By), o.At.UTC().Format("2006-01-02 15:04:05 UTC"))
	if o.Over && o.State != "done" {
		p.text(4, failureOf(o))
	} else {
		p.text(4, orderLine(o))
	}
	for _, line := range o.Asks {
		p.line("      %s", flat(line))
	}
	if o.Approved != "" {
		p.text(4, "Approved by "+flat(o.Approved)+".")
	}
	if len(o.Asks) > 0 {
		p.next(append([]api.Hint{{Command: api.Typed("custos", "orders", "approve", o.ID), What: "have just this done"}}, o.Next...))
		return
	}
	if r := o.Arrival; r != nil && r.Outcome == "delivered" {
		p.text(4, "Delivered. What proves it: "+flat(r.Proof))
		if r.Turn != nil {
			p.text(4, turnLine(*r.Turn))
		}
	}
	p.next(o.Next)
}

// turnLine says what became of the turn that a nudge began, and when.
func turnLine(t api.AgentTurn) string {
	words := flat(t.Words())
	if words == "" {
		return "What became of the turn that it began is not known."
	}
	line := strings.ToUpper(words[:1]) + words[1:]
	if t.At != nil {
		line += " (" + t.At.UTC().Format("2006-01-02 15:04:05 UTC") + ")"
	}
	return line
}
