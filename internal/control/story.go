package control

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// eventsAStory is how much of the event log a story has.
const eventsAStory = 50

func (c *Control) story(ctx context.Context, call Call) (any, error) {
	of := strings.TrimSpace(call.Ask("of"))
	if of == "" {
		return nil, api.AsBadInput(fmt.Errorf("cannot show the story of nothing: name an alert's number, an agent, a path or a rule"))
	}
	pass, err := c.Look(ctx, Whole)
	if err != nil {
		return nil, CannotLook(err)
	}
	written, err := c.Alerts.Alerts(ctx, true)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return nil, err
	}
	alerts := view.Merged(pass.Assessment.Alerts, written)
	a, err := c.resolve(of, &pass, alerts)
	if err != nil {
		return nil, err
	}
	events, err := c.storyEvents(ctx, a)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return nil, err
	}
	return view.Story(a, pass, alerts, events, c.Teller), nil
}

func (c *Control) storyEvents(ctx context.Context, a view.StoryOf) ([]fleet.Event, error) {
	return c.Events(ctx, EventFilter{Limit: eventsAStory, Subject: a.Subject, Rule: a.Rule, Action: a.Action})
}

var actionID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// resolve finds what a person means: an alert's number, kind/name, a bare name
// or path, a rule, an action, or an unmistakable piece of a name.
func (c *Control) resolve(of string, p *fleet.Pass, alerts []fleet.Alert) (view.StoryOf, error) {
	if n, err := strconv.ParseInt(strings.TrimPrefix(of, "#"), 10, 64); err == nil {
		return alertNumber(n, alerts)
	}
	all := view.Subjects(&p.Snapshot)
	for _, a := range alerts {
		all = append(all, a.Subject)
	}
	all = append(all, view.SubjectsOfPlan(p)...)
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
	if slices.Contains(c.ruleNames(), of) {
		return view.StoryOf{Rule: of}, nil
	}
	if actionID.MatchString(of) {
		return view.StoryOf{Action: of}, nil
	}
	return oneOf(of, distinct(all, func(k fleet.Subject) bool { return strings.Contains(k.Name, of) }))
}

func alertNumber(n int64, alerts []fleet.Alert) (view.StoryOf, error) {
	for _, a := range alerts {
		if a.Number == n {
			return view.StoryOf{Subject: a.Subject}, nil
		}
	}
	return view.StoryOf{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show the story of alert %d: there is no such alert", n), Hint: "custos alerts"}
}

func distinct(all []fleet.Subject, keep func(fleet.Subject) bool) (out []fleet.Subject) {
	for _, k := range all {
		if keep(k) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func oneOf(of string, hits []fleet.Subject) (view.StoryOf, error) {
	switch len(hits) {
	case 0:
		return view.StoryOf{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show the story of %q: nothing is known by that name", fleet.Line(of, 100)), Hint: "custos"}
	case 1:
		return view.StoryOf{Subject: hits[0]}, nil
	}
	names := view.Each(hits[:min(len(hits), 5)], fleet.Subject.String)
	if len(hits) > 5 {
		names = append(names, fmt.Sprintf("and %d more", len(hits)-5))
	}
	return view.StoryOf{}, &api.Error{Kind: api.BadInput,
		Message: fmt.Sprintf("cannot tell which %q is meant: %s", fleet.Line(of, 100), strings.Join(names, ", ")),
		Hint:    api.Typed("custos", "why", hits[0].String())}
}
