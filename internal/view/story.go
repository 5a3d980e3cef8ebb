package view

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// StoryOf is what a story is about: a thing, or (with an empty subject) a rule
// or one action.
type StoryOf struct {
	Subject fleet.Subject
	Rule    string
	Action  string
}

// Story is everything known about one thing.
func Story(a StoryOf, p fleet.Pass, alerts []fleet.Alert, events []fleet.Event, t Teller) api.Story {
	out := api.Story{At: p.Snapshot.At.Wall.UTC(), Subject: title(a), Facts: []string{}, Planned: []api.Deed{}, Skipped: []api.Refusal{},
		Doubts: []api.Doubt{}, Events: []api.Event{}, Next: []api.Hint{}}
	if a.Subject != (fleet.Subject{}) {
		out.Facts, out.Shown = factsOfPass(&p, a.Subject), onScreen(&p.Snapshot, a.Subject)
	}
	var mine []fleet.Alert
	for _, al := range alerts {
		if a.concerns(al.AlertKey, al.Subject) {
			mine = append(mine, al)
		}
	}
	out.Alerts = Alerts(mine, p.Snapshot.At)
	a.plan(&out, p, t)
	if a.Subject.Kind == fleet.KindAgent {
		out.Facts = append(out.Facts, orderFacts(p, a.Subject.Name)...)
		out.Facts = append(out.Facts, nextStep(out, p.Policy)...)
	}
	out.Facts = append(out.Facts, lostFacts(p.Past)...)
	for _, e := range events {
		out.Events = append(out.Events, Event(e))
	}
	out.Next = storyHints(a, out, mine, p)
	return out
}

func title(a StoryOf) string {
	switch {
	case a.Rule != "":
		return "rule " + a.Rule
	case a.Action != "":
		return "action " + a.Action
	}
	return a.Subject.String()
}

// concerns says whether an alert, or an action on a subject for that alert,
// belongs to the story.
func (a StoryOf) concerns(k fleet.AlertKey, on fleet.Subject) bool {
	if a.Rule != "" {
		return k.Rule == a.Rule
	}
	return a.Action == "" && (k.Subject == a.Subject || on == a.Subject)
}

// holds says whether a record belongs to the story: a run has that of its steps too.
func (a StoryOf) holds(record fleet.Subject) bool {
	return record == a.Subject || a.Subject.Kind == fleet.KindRun && record.Kind == fleet.KindRun && strings.HasPrefix(record.Name, a.Subject.Name+"/")
}

// ordered says whether an order belongs to the story: of its agent, or of the pool that it fills.
func (a StoryOf) ordered(o fleet.Order) bool {
	switch a.Subject.Kind {
	case fleet.KindAgent:
		return o.Agent == a.Subject.Name
	case fleet.KindPool:
		return o.Spawn != nil && o.Spawn.Pool == a.Subject.Name
	}
	return a.Subject == fleet.Subject{Kind: fleet.KindOrder, Name: o.ID}
}

// fills says whether an action starts a worker of the pool that the story is about.
func (a StoryOf) fills(act fleet.Action, orders []fleet.Order) bool {
	return a.Subject.Kind == fleet.KindPool && slices.ContainsFunc(orders, func(o fleet.Order) bool { return o.ID == act.Order && a.ordered(o) })
}

// begins says whether a move is what the schedule or the pool of the story begins.
func (a StoryOf) begins(m fleet.Move, f fleet.Follows) bool {
	if m.From != "" {
		return false
	}
	return m.Record.Kind == fleet.KindRun && a.Subject.Kind == fleet.KindSchedule &&
		slices.ContainsFunc(f.Runs, func(r fleet.Run) bool { return r.ID == m.Record.Name && r.Schedule == a.Subject.Name }) ||
		m.Record.Kind == fleet.KindOrder && slices.ContainsFunc(f.Given, func(o fleet.Order) bool { return o.ID == m.Record.Name && a.ordered(o) })
}

func (a StoryOf) plan(out *api.Story, p fleet.Pass, t Teller) {
	planned, skipped := byItself(p)
	for _, act := range planned {
		if a.concerns(act.For, act.Subject) || act.ID == a.Action || a.fills(act, p.Past.Orders) {
			out.Planned = append(out.Planned, deed(p, act, t))
		}
	}
	for _, k := range skipped {
		if a.concerns(k.For, k.Subject) || k.ID == a.Action {
			out.Skipped = append(out.Skipped, Refusal(k))
		}
	}
	for _, m := range p.Plan.Moves {
		if !m.Noted() && (a.holds(m.Record) || a.begins(m, p.Plan.Follows)) {
			out.Moves = append(out.Moves, moveView(m))
		}
	}
	held := slices.DeleteFunc(slices.Clone(p.Plan.Held), func(m fleet.HeldMove) bool { return !a.holds(m.Record) })
	out.Held = heldViews(append(heldOrders(p, a.ordered), held...))
	for _, c := range p.Assessment.Blind {
		if a.concerns(c.AlertKey, c.Subject) {
			out.Doubts = append(out.Doubts, api.Doubt{Rule: c.Rule, Subject: c.Subject.String(), Why: c.Why})
		}
	}
}

// nextStep says what Custos does next about an agent, and when. To notify
// people is no step.
func nextStep(s api.Story, p fleet.Policy) []string {
	for _, d := range s.Planned {
		if !p.Abilities[d.Do].Harmless {
			return []string{fmt.Sprintf("Next: %s, now (%s).", d.Do, d.Rule)}
		}
	}
	var held, soonest *api.Refusal
	for i, r := range s.Skipped {
		if p.Abilities[r.Do].Harmless {
			continue
		}
		if held == nil {
			held = &s.Skipped[i]
		}
		if r.Until != nil && (soonest == nil || r.Until.Before(*soonest.Until)) {
			soonest = &s.Skipped[i]
		}
	}
	switch {
	case soonest != nil:
		return []string{fmt.Sprintf("Next: %s, not before %s UTC (%s: %s%s).", soonest.Do, soonest.Until.UTC().Format("2006-01-02 15:04:05"), soonest.Guard, soonest.Why, andMore(soonest.Also))}
	case held != nil:
		return []string{fmt.Sprintf("Next: nothing by itself: %s is held back (%s: %s).", held.Do, held.Guard, held.Why)}
	}
	return nil
}

// andMore says how much else holds what waits.
func andMore(also []string) string {
	if len(also) == 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", len(also))
}

func storyHints(a StoryOf, s api.Story, alerts []fleet.Alert, p fleet.Pass) []api.Hint {
	out := []api.Hint{}
	if pane := attachCommand(a.Subject, p.Snapshot.Agents); pane != "" {
		out = append(out, api.Hint{Command: pane, What: "look at it"})
	}
	if seen := ByName(&p.Snapshot)[a.Subject.Name]; seen != nil && a.Subject.Kind == fleet.KindAgent && IsLost(*seen) {
		out = append(out, Adoption(*seen))
	}
	for _, o := range WaitingFor(p.Past, a.Subject.Name) {
		if a.Subject.Kind == fleet.KindAgent {
			out = append(out, Order(o, true).Next...)
		}
	}
	if a.Subject.Kind == fleet.KindOrder {
		out = append(out, api.Hint{Command: api.Typed("custos", "orders", "show", a.Subject.Name), What: "exactly what it is"},
			api.Hint{Command: api.Typed("custos", "orders", "approve", a.Subject.Name), What: "have it done"},
			api.Hint{Command: api.Typed("custos", "orders", "cancel", a.Subject.Name), What: "refuse it"})
	}
	for _, d := range s.Planned {
		if d.Held != nil && strings.HasPrefix(d.Held.Hint, "custos approve ") {
			out = append(out, api.Hint{Command: d.Held.Hint, What: "approve of " + d.Do})
		}
	}
	for _, k := range s.Skipped {
		if strings.HasPrefix(k.Hint, "custos approve ") && !strings.HasSuffix(k.Hint, "NUMBER") {
			out = append(out, api.Hint{Command: k.Hint, What: "approve of " + k.Do})
			if instead := p.Policy.Abilities[k.Do].Denied; instead != "" {
				out = append(out, api.Hint{Command: strings.Replace(k.Hint, "approve", "deny", 1), What: "have " + instead + " done instead"})
			}
		}
	}
	if len(s.Planned) > 0 {
		out = append(out, api.Hint{Command: "custos patrol --apply", What: "do what is planned"})
	}
	for _, al := range alerts {
		if al.Status == fleet.AlertFiring && al.AckedBy == "" && al.Number > 0 && p.Past.NextAlert > al.Number {
			out = append(out, api.Hint{Command: fmt.Sprintf("custos ack %d", al.Number), What: "say that you have taken it up"})
		}
	}
	return out
}
