package work

import (
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// relieved is how long an order to end an agent stands: when it is not carried out by then, it is looked at again whether
// the agent is needed.
const relieved = 10 * time.Minute

// relieve ends the agents that Custos started for one piece of work alone, once they have that no more: those that are
// idle are ended, and those that are gone are retired. One that works, or that a person looks at, is let go on.
func (c *pass) relieve() {
	if c.past.Amnesia || !c.snap.Agents.Fresh() || c.policy.Frozen != "" {
		return
	}
	for i := range c.past.Registrations {
		r := &c.past.Registrations[i]
		if !r.Dispatched || r.Desired == fleet.DesiredRetired || c.isOrdered(r.Name) || !c.isDone(r) {
			continue
		}
		switch a := c.seen(r); {
		case a != nil && a.Process.PID != 0:
			c.end(r, a)
		case c.isGone(r.Name) && r.Exit != nil && r.Exit.Instance == r.Instance && !(fleet.IsPerson(r.DesiredBy) && r.Desired != fleet.DesiredRunning):
			gone := *r
			gone.Desired, gone.DesiredBy, gone.DesiredAt, gone.DesiredFor = fleet.DesiredRetired, fleet.ByCustos, c.at, ""
			c.out.Registrations = append(c.out.Registrations, gone)
		}
	}
}

// isDone says whether an agent has the work no more that it was started for.
func (c *pass) isDone(r *fleet.Registration) bool {
	w := ledger.Work(c.past.Records, fleet.Ref(r.Task))
	if w == nil {
		return c.at.Since(r.CreatedAt) > month // what is closed is forgotten after a month
	}
	return w.State == fleet.WorkClosed || w.Agent != r.Name
}

// isOrdered says whether something about an agent is ordered already.
func (c *pass) isOrdered(name string) bool {
	return fleet.Find(c.past.Orders, func(o *fleet.Order) bool { return o.Agent == name && !o.IsOver() }) != nil
}

// seen is the newest instance of an agent; nil when it was not seen.
func (c *pass) seen(r *fleet.Registration) *fleet.Agent {
	return fleet.Find(c.snap.Agents.Value, func(a *fleet.Agent) bool { return a.Name == r.Name && a.Instance == r.Instance })
}

// end orders the end of an agent whose turn is over. The order is made of the moment at which that began: a pass that is
// thought out again gives the same.
func (c *pass) end(r *fleet.Registration, a *fleet.Agent) {
	if r.Desired != fleet.DesiredRunning || !a.TurnOver() || a.Attached > 0 || r.PromptState == fleet.DeliveryPending || r.PromptState == fleet.DeliverySent {
		return
	}
	id := fleet.RelieveOrder + r.Name + "-" + c.at.Wall.UTC().Truncate(relieved).Format("060102-1504")
	if fleet.Find(c.past.Tried, func(o *fleet.Order) bool { return o.ID == id }) != nil {
		return // it came to nothing: the next ten minutes try again
	}
	c.out.Given = append(c.out.Given, fleet.Order{ID: id, Do: fleet.OrderStop, Agent: r.Name, By: fleet.ByCustos,
		At: c.at, State: fleet.OrderOpen, Expires: c.at.Add(relieved), Text: "what it was started for is over: " + r.Task})
}
