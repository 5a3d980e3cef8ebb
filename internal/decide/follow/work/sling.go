package work

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// sling gives the orders by which agents begin with work that was handed out to them, each
// once, and gives work back whose order came to nothing: that work is taken and that its
// agent is to start is one row, so that there is never one without the other.
func (c *pass) sling(plan fleet.Plan) {
	for _, w := range c.past.Records.Work {
		if w.State != fleet.WorkTaken || len(w.Begin) == 0 || c.isChanged(w.ID) {
			continue
		}
		if !w.Begun {
			c.out.Given = append(c.out.Given, w.Begin...)
			w.Begun = true
			c.out.Records.Work = append(c.out.Records.Work, w)
			continue
		}
		c.slung(w, plan)
	}
}

// slung goes on from what became of the order of work that was handed out.
func (c *pass) slung(w fleet.WorkItem, plan fleet.Plan) {
	state, why := c.begun(w, plan)
	switch state {
	case fleet.OrderDone:
		w.Begin = nil
		c.out.Records.Work = append(c.out.Records.Work, w)
	case fleet.OrderExpired, fleet.OrderRefused:
		if state == fleet.OrderExpired { // it never had its turn
			w.Tries = max(0, w.Tries-1)
		}
		w.Branch = "" // none was begun
		c.giveBackFor(w, fmt.Sprintf("agent %s did not begin with it: %s", w.Agent, why))
	}
}

// begun says how the order of work that was handed out ended; open while it is under way.
func (c *pass) begun(w fleet.WorkItem, plan fleet.Plan) (fleet.OrderState, string) {
	id := w.Begin[0].ID
	if o := fleet.Find(plan.Orders, func(o *fleet.Order) bool { return o.ID == id }); o != nil && o.IsOver() && o.State != fleet.OrderDone {
		return o.State, o.Why
	}
	if fleet.Find(c.past.Orders, func(o *fleet.Order) bool { return o.ID == id }) != nil {
		return fleet.OrderOpen, "" // what has failed is tried again
	}
	why := "what became of its order is on record no more"
	for i := range c.past.Actions { // in an order that says nothing: one try may have failed before another
		a := &c.past.Actions[i]
		if a.Order != id || a.Result == nil {
			continue
		}
		if s := a.Result.Status; s != fleet.ResultFailed && s != fleet.ResultRefused {
			return fleet.OrderDone, ""
		}
		why = a.Result.Why
	}
	if c.registered(w.Agent) != nil {
		return fleet.OrderDone, ""
	}
	return fleet.OrderRefused, why
}

// isChanged says whether this very pass has changed work already: it closed with its merge.
func (c *pass) isChanged(id string) bool {
	return slices.ContainsFunc(c.changed, func(w fleet.WorkItem) bool { return w.ID == id })
}

func (c *pass) giveBackFor(w fleet.WorkItem, why string) {
	released, err := ledger.ReleaseWork(w, why, fleet.ByCustos, c.at)
	if err != nil {
		return
	}
	unbegun := len(w.Begin) > 0
	if unbegun { // nobody has worked on it but who did before
		released.LeftBy = w.LeftBy
	}
	if w.Tries > 0 || unbegun && w.Begin[0].By == fleet.ByCustos { // Custos hands it out again: who watches is told when it does not any more
		c.out.Records.Work = append(c.out.Records.Work, c.tried(released))
		return
	}
	c.out.Records.Work = append(c.out.Records.Work, released)
	c.out.Tell(ledger.News(fmt.Sprintf("released/%s/%d", w.ID, w.Revision), c.listeners(ledger.OwnSeen(&released)), fleet.Mail{Type: fleet.MailNews, Priority: w.Priority, Project: w.Project, About: w.ID,
		Subject: "Given back: " + ledger.Titled(w.Ref(), w.Title), Body: why + ".\nAnybody may take it up: custos work take " + w.ID + "\n"}, c.at))
}
