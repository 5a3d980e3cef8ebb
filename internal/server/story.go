package server

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// about is what a story is told of: a thing, or (with an empty subject) a rule
// or one action.
type about struct {
	subject fleet.Subject
	rule    string
	action  string
}

// eventsAStory is how much of the event log a story tells.
const eventsAStory = 50

func (s *server) story(req *http.Request, _ Caller) (any, error) {
	of := strings.TrimSpace(req.URL.Query().Get("of"))
	if of == "" {
		return nil, api.AsBadInput(fmt.Errorf("cannot tell the story of nothing: name an alert's number, an agent, a path or a rule"))
	}
	pass, err := s.Cycle.Look(req.Context(), stare)
	if err != nil {
		return nil, cannotLook(err)
	}
	written, err := s.Control.Alerts.Alerts(req.Context(), true)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return nil, err
	}
	alerts := view.Merged(pass.Assessment.Alerts, written)
	a, err := s.resolve(of, &pass, alerts)
	if err != nil {
		return nil, err
	}
	events, err := s.storyEvents(req.Context(), a)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return nil, err
	}
	return story(a, pass, alerts, events, s.Teller), nil
}

func (s *server) storyEvents(ctx context.Context, a about) ([]fleet.Event, error) {
	return s.Chronicle.Events(ctx, EventFilter{Limit: eventsAStory, Subject: a.subject, Rule: a.rule, Action: a.action})
}

var actionID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// resolve finds what a person means: an alert's number, kind/name, a bare name
// or path, a rule, an action, or an unmistakable piece of a name.
func (s *server) resolve(of string, p *fleet.Pass, alerts []fleet.Alert) (about, error) {
	if n, err := strconv.ParseInt(strings.TrimPrefix(of, "#"), 10, 64); err == nil {
		return alertNumber(n, alerts)
	}
	all := view.Subjects(&p.Snapshot)
	for _, a := range alerts {
		all = append(all, a.Subject)
	}
	all = append(all, subjectsOfPlan(p)...)
	for _, o := range p.Past.Orders {
		if o.Agent != "" && !o.IsOver() {
			all = append(all, fleet.Subject{Kind: fleet.KindAgent, Name: o.Agent})
		}
	}
	for _, same := range []func(fleet.Subject) bool{
		func(k fleet.Subject) bool { return k.String() == of },
		func(k fleet.Subject) bool { return k.Name == of },
		func(k fleet.Subject) bool { return k.IsPane(of) },
	} {
		if hits := distinct(all, same); len(hits) > 0 {
			return oneOf(of, hits)
		}
	}
	if slices.Contains(s.Control.Rules(), of) {
		return about{rule: of}, nil
	}
	if actionID.MatchString(of) {
		return about{action: of}, nil
	}
	return oneOf(of, distinct(all, func(k fleet.Subject) bool { return strings.Contains(k.Name, of) }))
}

func alertNumber(n int64, alerts []fleet.Alert) (about, error) {
	for _, a := range alerts {
		if a.Number == n {
			return about{subject: a.Subject}, nil
		}
	}
	return about{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot tell the story of alert %d: there is no such alert", n), Hint: "custos alerts"}
}

func distinct(all []fleet.Subject, keep func(fleet.Subject) bool) (out []fleet.Subject) {
	for _, k := range all {
		if keep(k) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func oneOf(of string, hits []fleet.Subject) (about, error) {
	switch len(hits) {
	case 0:
		return about{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot tell the story of %q: nothing is known by that name", fleet.Line(of, 100)), Hint: "custos"}
	case 1:
		return about{subject: hits[0]}, nil
	}
	names := each(hits[:min(len(hits), 5)], fleet.Subject.String)
	if len(hits) > 5 {
		names = append(names, fmt.Sprintf("and %d more", len(hits)-5))
	}
	return about{}, &api.Error{Kind: api.BadInput,
		Message: fmt.Sprintf("cannot tell which %q is meant: %s", fleet.Line(of, 100), strings.Join(names, ", ")),
		Hint:    api.Typed("custos", "why", hits[0].String())}
}

// story is everything known about one thing.
func story(a about, p fleet.Pass, alerts []fleet.Alert, events []fleet.Event, t Teller) api.Story {
	out := api.Story{At: p.Snapshot.At.Wall.UTC(), Subject: title(a), Facts: []string{}, Planned: []api.Deed{}, Skipped: []api.Refusal{},
		Doubts: []api.Doubt{}, Events: []api.Event{}, Next: []api.Hint{}}
	if a.subject != (fleet.Subject{}) {
		out.Facts = factsOfPass(&p, a.subject)
	}
	var mine []fleet.Alert
	for _, al := range alerts {
		if a.concerns(al.AlertKey, al.Subject) {
			mine = append(mine, al)
		}
	}
	out.Alerts = view.Alerts(mine, p.Snapshot.At)
	a.plan(&out, p, t)
	if a.subject.Kind == fleet.KindAgent {
		out.Facts = append(out.Facts, orderFacts(p, a.subject.Name)...)
		out.Facts = append(out.Facts, nextStep(out, p.Policy)...)
	}
	out.Facts = append(out.Facts, lostFacts(p.Past)...)
	for _, e := range events {
		out.Events = append(out.Events, eventView(e))
	}
	out.Next = storyHints(a, out, mine, p)
	return out
}

func title(a about) string {
	switch {
	case a.rule != "":
		return "rule " + a.rule
	case a.action != "":
		return "action " + a.action
	}
	return a.subject.String()
}

// concerns says whether an alert, or an action on a subject for that alert,
// belongs to the story.
func (a about) concerns(k fleet.AlertKey, on fleet.Subject) bool {
	if a.rule != "" {
		return k.Rule == a.rule
	}
	return a.action == "" && (k.Subject == a.subject || on == a.subject)
}

// holds says whether a record belongs to the story: a run has that of its steps too.
func (a about) holds(record fleet.Subject) bool {
	return record == a.subject || a.subject.Kind == fleet.KindRun && record.Kind == fleet.KindRun && strings.HasPrefix(record.Name, a.subject.Name+"/")
}

func (a about) plan(out *api.Story, p fleet.Pass, t Teller) {
	planned, skipped := byItself(p)
	for _, act := range planned {
		if a.concerns(act.For, act.Subject) || act.ID == a.action {
			out.Planned = append(out.Planned, deed(act, t))
		}
	}
	for _, k := range skipped {
		if a.concerns(k.For, k.Subject) || k.ID == a.action {
			out.Skipped = append(out.Skipped, refusal(k))
		}
	}
	for _, m := range p.Plan.Moves {
		if !m.Noted() && a.holds(m.Record) {
			out.Moves = append(out.Moves, moveView(m))
		}
	}
	out.Held = heldViews(slices.DeleteFunc(slices.Clone(p.Plan.Held), func(m fleet.HeldMove) bool { return !a.holds(m.Record) }))
	for _, c := range p.Assessment.Blind {
		if a.concerns(c.AlertKey, c.Subject) {
			out.Doubts = append(out.Doubts, api.Doubt{Rule: c.Rule, Subject: c.Subject.String(), Why: c.Why})
		}
	}
}

// nextStep says what Custos does next about an agent, and when. To tell people
// is no step.
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

func storyHints(a about, s api.Story, alerts []fleet.Alert, p fleet.Pass) []api.Hint {
	out := []api.Hint{}
	if pane := attachCommand(a.subject, p.Snapshot.Agents); pane != "" {
		out = append(out, api.Hint{Command: pane, What: "look at it"})
	}
	if seen := byName(&p.Snapshot)[a.subject.Name]; seen != nil && a.subject.Kind == fleet.KindAgent && view.IsLost(*seen) {
		out = append(out, view.Adoption(*seen))
	}
	for _, o := range waitingFor(p.Past, a.subject.Name) {
		if a.subject.Kind == fleet.KindAgent {
			out = append(out, view.Order(o, true).Next...)
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
