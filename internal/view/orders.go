package view

import (
	"strconv"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Order is an order for who gave it, with what to type next.
func Order(o fleet.Order, watched bool) api.Order {
	out := api.Order{ID: o.ID, Do: string(o.Do), Agent: o.Agent, Account: o.Account, By: o.By, At: o.At.Wall.UTC(), Expires: Moment(o.Expires),
		State: string(o.State), Over: o.IsOver(), Guard: string(o.Guard), Why: o.Why, Until: Moment(o.Until), Hint: o.Hint,
		Action: o.Action, Arrival: arrival(o.Reached()), Watched: watched, Next: []api.Hint{}}
	out.Next, out.Approved = orderHints(o, watched), o.Approved
	if o.State == fleet.OrderAsked {
		out.Guard, out.Why, out.Asks = string(fleet.GuardApproval), "a person at the host itself is to approve of it, until "+o.AskedUntil().Wall.UTC().Format("2006-01-02 15:04 UTC"), asked(o)
	}
	return out
}

// asked is what an order is to do, as it was written, a line each.
func asked(o fleet.Order) (lines []string) {
	add := func(what, text string) {
		if text != "" {
			lines = append(lines, what+": "+strconv.Quote(text))
		}
	}
	switch o.Do {
	case fleet.OrderNudge:
		add("types", o.Text)
	case fleet.OrderAnswer:
		add("answers", o.Text)
	default:
		add("why", o.Text)
	}
	if r := o.Spawn; r != nil {
		for i, arg := range r.Argv {
			add("argument "+strconv.Itoa(i), arg)
		}
		add("kind", r.Kind)
		add("in", r.Dir)
		add("repository", r.Repo)
		add("worktree", r.Worktree)
		add("branch", r.Branch)
		add("variables of the environment", strings.Join(r.Env, " "))
		add("as role", r.Role)
		add("prompt", r.Prompt)
	}
	return lines
}

func arrival(a *fleet.Arrival) *api.Arrival {
	if a == nil {
		return nil
	}
	return &api.Arrival{Outcome: string(a.Outcome), Proof: string(a.Proof), Why: a.Why}
}

// Turn is what became of a turn.
func Turn(t fleet.AgentTurn) *api.AgentTurn {
	return &api.AgentTurn{State: string(t.State), Error: t.Error, At: Moment(t.At)}
}

func orderHints(o fleet.Order, watched bool) []api.Hint {
	out := []api.Hint{}
	if o.Hint != "" {
		out = append(out, api.Hint{Command: o.Hint, What: "what it waits for"})
	}
	if !watched && !o.IsOver() {
		out = append(out, NoDaemon())
	}
	starts := o.Do == fleet.OrderSpawn || o.Do == fleet.OrderRecover
	switch {
	case o.State == fleet.OrderDone && starts && !watched:
		out = append(out, api.Hint{Command: "custos up", What: "no daemon watches it now"})
	case o.State == fleet.OrderDone && starts:
		out = append(out, api.Hint{Command: api.Typed("custos", "show", o.Agent), What: "how it does"})
	case !o.IsOver():
		out = append(out, api.Hint{Command: api.Typed("custos", "orders", "cancel", o.ID), What: "take it back"})
	case o.State != fleet.OrderDone && o.Agent != "":
		out = append(out, api.Hint{Command: api.Typed("custos", "why", fleet.Subject{Kind: fleet.KindAgent, Name: o.Agent}.String()), What: "why"})
	}
	return out
}

// NoDaemon says how to have what waits gone on with.
func NoDaemon() api.Hint {
	return api.Hint{Command: "custos up", What: "no daemon runs now: what is pending waits for it"}
}

// OrderState is the state for people: an order whose action runs is under way.
func OrderState(o fleet.Order) string {
	if o.State == fleet.OrderOpen && o.Action != "" {
		return "under way"
	}
	return string(o.State)
}
