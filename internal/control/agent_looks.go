package control

import (
	"context"
	"fmt"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

func (c *Control) agents(ctx context.Context, call Call) (any, error) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return nil, CannotLook(err)
	}
	out := view.Agents(pass, view.Hints{Daemon: c.Watched})
	for i := range out.Agents {
		c.tellTyping(&out.Agents[i])
	}
	return out, nil
}

// tellTyping says of an agent that a person types to it: what it does then may be theirs.
func (c *Control) tellTyping(row *api.AgentRow) {
	if c.Typing == nil {
		return
	}
	if who := c.Typing(row.Name); who != "" {
		row.Reason = fleet.Line(who, 80) + " types there by the page; " + row.Reason
	}
}

// failuresShown is how many failures of an agent its page shows.
const failuresShown = 5

// messagesShown is how many messages that wait for an agent its page shows.
const messagesShown = 20

func (c *Control) agent(ctx context.Context, call Call) (any, error) {
	name := call.ID
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return nil, CannotLook(err)
	}
	registered, err := c.registration(ctx, name)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return nil, err
	}
	a, err := findAgent("show", name, &pass.Snapshot, registered)
	if open := view.WaitingFor(pass.Past, name); err != nil && len(open) > 0 {
		return nil, notYet(open[0])
	}
	if err != nil {
		return nil, err
	}
	failures, err := c.History.Failures(ctx, name, failuresShown)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return nil, err
	}
	out := view.Agent(a, registered, pass, failures, c.Teller)
	c.tellTyping(&out.Agent)
	if call.From != "" {
		peeked(&out)
	}
	messages, err := c.History.MessagesFor(ctx, name, messagesShown)
	out.Messages = view.Messages(messages)
	return out, unlessForgotten(pass.Past, err)
}

// peeked proposes a look at an agent's screen instead of its terminal, which does not come over a hub.
func peeked(d *api.AgentDetail) {
	for i := range d.Next {
		d.Next[i].Command = strings.Replace(d.Next[i].Command, "custos attach ", "custos peek ", 1)
	}
}

// notYet says that an agent is ordered, and is not there.
func notYet(o fleet.Order) *api.Error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show %q: order %s, to %s it, is %s: %s", fleet.Line(o.Agent, 100), o.ID, o.Do, view.OrderState(o), o.Why),
		Hint: api.Typed("custos", "why", "agent/"+o.Agent)}
}

// registration returns nil for an agent that is not registered.
func (c *Control) registration(ctx context.Context, name string) (*fleet.Registration, error) {
	all, err := c.Registry(ctx)
	if err != nil {
		return nil, err
	}
	return ledger.Registration(all, name), nil
}

// findAgent returns an agent as it is seen; verb is what cannot be done without. One that is registered and not seen
// is unknown, with the reason.
func findAgent(verb, name string, s *fleet.Snapshot, r *fleet.Registration) (fleet.Agent, error) {
	if a := view.ByName(s)[name]; a != nil {
		return *a, nil
	}
	if r != nil {
		return view.UnseenAgent(*r, s.Agents.Sight), nil
	}
	if !s.Agents.Usable() {
		return fleet.Agent{}, &api.Error{Kind: api.CannotLook, Hint: "custos status",
			Message: fmt.Sprintf("cannot tell whether there is an agent %q: agents is %s (%s)", fleet.Line(name, 100), s.Agents.Status, s.Agents.Why)}
	}
	return fleet.Agent{}, noAgent(verb, name)
}

func noAgent(verb, name string) *api.Error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot %s %q: there is no agent of this name", verb, fleet.Line(name, 100)), Hint: "custos ps"}
}

// failuresAtMost is how many failures are listed.
const failuresAtMost = 200

func (c *Control) failures(ctx context.Context, call Call) (any, error) {
	name := call.Ask("agent")
	list, err := c.History.Failures(ctx, name, failuresAtMost)
	if err == nil && name != "" && len(list) == 0 {
		_, err = c.known(ctx, "list the failures of", name)
	}
	if err != nil {
		return nil, err
	}
	return api.Failures{Failures: view.Failures(list)}, nil
}

// addFailed adds to the status the agents that were given up, and how much is
// ordered and not over. A ledger that cannot be read is a note, not the end of
// the status: it is asked for just when something is wrong.
func (c *Control) addFailed(ctx context.Context, out *api.Status) error {
	out.Failed = []api.FailedAgent{}
	all, err := c.Registry(ctx)
	if err != nil {
		out.Notes = append(out.Notes, "the ledger cannot be read: "+fleet.Line(err.Error(), 300))
		return nil
	}
	for _, r := range all {
		if r.Failed == "" || r.Desired == fleet.DesiredRetired {
			continue
		}
		past, err := c.History.Failures(ctx, r.Name, failuresAtMost)
		if err != nil {
			return err
		}
		out.Failed = append(out.Failed, api.FailedAgent{Agent: r.Name, Why: r.Failed, Failures: len(past)})
	}
	open, err := c.Orders.Open(ctx)
	out.Orders = len(open)
	return err
}

// unlessForgotten is the error of a read of what is written down, unless all of it is
// lost: what is seen is shown then all the same, and that there is no more.
func unlessForgotten(p fleet.Past, err error) error {
	if p.Amnesia {
		return nil
	}
	return err
}
