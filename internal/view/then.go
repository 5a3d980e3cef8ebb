package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// quietFor is how old the last word of an agent that worked may be: what it did after so
// long is not known.
const quietFor = 30 * time.Minute

// Then is the fleet as it was at a moment, by what was written down until then.
func Then(moment, now time.Time, events []fleet.Event, hooks []fleet.HookEvent) api.Then {
	out := api.Then{At: now.UTC(), Moment: moment.UTC(), Agents: []api.ThenAgent{}, Alerts: []api.ThenAlert{}}
	alerts := map[fleet.AlertKey]api.ThenAlert{}
	var told []api.ThenAgent
	for _, e := range events {
		if out.Begins == nil {
			begins := e.At.Wall.UTC()
			out.Begins = &begins
		}
		if e.At.Wall.After(moment) {
			continue
		}
		switch e.Kind {
		case "up", "down":
			out.Unwatched = e.Kind == "down"
		case "alert.firing":
			alerts[e.Alert] = api.ThenAlert{Rule: e.Alert.Rule, Subject: SubjectText(e.Alert.Subject), Says: fleet.Line(e.Text, 400), Since: e.At.Wall.UTC()}
		case "alert.resolved":
			delete(alerts, e.Alert)
		}
		if state, ok := eventState(e); ok && e.Subject.Kind == fleet.KindAgent {
			told = append(told, api.ThenAgent{Name: e.Subject.Name, State: state, Source: "custos", Says: fleet.Line(strings.TrimSpace(e.Kind+" "+e.Text), 400), Told: e.At.Wall.UTC()})
		}
	}
	for _, h := range hooks {
		if state := hookState(h); state != "" && h.Agent != "" && !h.At.Wall.After(moment) {
			told = append(told, api.ThenAgent{Name: h.Agent, State: state, Source: "agent", Says: fleet.Line(strings.TrimSpace(string(h.Event)+" "+hookText(h)), 400), Told: h.At.Wall.UTC()})
		}
	}
	out.Agents = append(out.Agents, toldLast(told, moment)...)
	out.Alerts = slices.SortedFunc(maps.Values(alerts), func(a, b api.ThenAlert) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	return out
}

// removed is the state of an agent that there is no more.
const removed = "removed"

// toldLast is the last word of each agent, by name.
func toldLast(told []api.ThenAgent, moment time.Time) (out []api.ThenAgent) {
	slices.SortStableFunc(told, func(a, b api.ThenAgent) int { return a.Told.Compare(b.Told) })
	last := map[string]api.ThenAgent{}
	for _, t := range told {
		last[t.Name] = t
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		t := last[name]
		if t.State == removed {
			continue
		}
		age := moment.Sub(t.Told)
		if t.Age = age.Round(time.Second).String(); age > quietFor && (t.State == string(fleet.StateWorking) || t.State == string(fleet.StateStarting)) {
			t.Says = fmt.Sprintf("nothing was told since: %s (%s)", t.Says, t.State)
			t.State = string(fleet.StateUnknown)
		}
		out = append(out, t)
	}
	return out
}

// eventState is the state of an agent that follows from what Custos wrote down.
func eventState(e fleet.Event) (state string, ok bool) {
	switch e.Kind {
	case "agent.registered":
		return string(fleet.StateUnknown), true
	case "agent.started":
		return string(fleet.StateStarting), true
	case "agent.failed":
		return string(fleet.StateCrashed), true
	case "agent.removed":
		return removed, true
	case "agent.ended":
		switch {
		case strings.Contains(e.Text, "asked by"):
			return string(fleet.StateStopped), true
		case isBad(e):
			return string(fleet.StateCrashed), true
		}
		return string(fleet.StateFinished), true
	}
	return "", false
}

// hookState is the state that follows from what an agent told; "" where none does.
func hookState(h fleet.HookEvent) string {
	switch h.Event {
	case fleet.HookPrompt, fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookAnswered, fleet.HookCompact, fleet.HookBeat:
		return string(fleet.StateWorking)
	case fleet.HookPermission, fleet.HookQuestion:
		return string(fleet.StateWaiting)
	case fleet.HookSessionStart, fleet.HookStop, fleet.HookRest:
		return string(fleet.StateIdle)
	case fleet.HookFailure, fleet.HookSessionEnd:
		return string(fleet.StateUnknown)
	}
	return ""
}
