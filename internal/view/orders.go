package view

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
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
		out.Guard, out.Why = string(fleet.GuardApproval), "a person at the host itself is to approve of it, until "+o.AskedUntil().Wall.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return out
}

// ofTheBook are the fields of a registration that say nothing of what is to be started.
var ofTheBook = []string{"name", "owner", "desired", "desired_by", "desired_at", "created_at", "created_by", "role_sum"}

// Asked is all that an order is to do, as it was written, a line each; nothing is left out.
func Asked(o fleet.Order) (lines []string) {
	add := func(what string, value any) { lines = append(lines, what+": "+quoted(value)) }
	add("do", string(o.Do))
	what := map[fleet.OrderDo]string{fleet.OrderNudge: "types", fleet.OrderAnswer: "answers"}[o.Do]
	for _, f := range []struct {
		name  string
		value string
	}{{"agent", o.Agent}, {"account", o.Account}, {cmp.Or(what, "why"), o.Text}, {"to the dialog", o.Dialog}, {"only to the instance", o.Instance}} {
		if f.value != "" {
			add(f.name, f.value)
		}
	}
	if o.Command {
		lines = append(lines, "it is a command of the agent's CLI, and typed as it is")
	}
	if o.Spawn == nil {
		return lines
	}
	var fields map[string]any
	text, err := json.Marshal(o.Spawn)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return append(lines, "what is to be started cannot be read: "+err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(ofTheBook, name) {
			add("start: "+name, fields[name])
		}
	}
	return lines
}

// quoted is a value of JSON with nothing in it that a terminal, or an eye, would take for something else.
func quoted(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case []any:
		list := make([]string, len(v))
		for i := range v {
			list[i] = quoted(v[i])
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	text, _ := json.Marshal(value) // it was JSON
	return string(text)
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
	case o.State == fleet.OrderAsked:
		out = append(out, api.Hint{Command: api.Typed("custos", "orders", "cancel", o.ID), What: "take it back, or refuse it"})
	case !o.IsOver() && o.Action == "":
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
