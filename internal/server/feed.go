package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// How much a feed tells: unless somebody asks for more, and at most. Where
// not everything is told, it reads eventsAFeed lines of either log to find what is.
const (
	feedLength  = 200
	feedAtMost  = 5000
	eventsAFeed = 20000
)

func (s *server) feed(req *http.Request, _ Caller) (any, error) {
	q, err := feedQuery(req.URL.Query())
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	crew := feedCrew{}
	if q.Of != "" {
		if crew, err = s.crewOf(req.Context(), q); err != nil {
			return nil, err
		}
	}
	read := eventsAFeed
	if q.View == api.FeedAll {
		read = q.Limit
	}
	events, err := s.Chronicle.Events(req.Context(), EventFilter{Limit: read, Subject: crew.only()})
	if err != nil {
		return nil, err
	}
	hooks, err := s.HookLog.HookEvents(req.Context(), HookFilter{Since: fleet.Instant{Wall: q.Since}, Limit: read})
	if err != nil {
		return nil, err
	}
	return feedView(q, crew, events, hooks), nil
}

func feedQuery(v url.Values) (api.FeedQuery, error) {
	q := api.FeedQuery{View: cmp.Or(v.Get("view"), api.FeedAll), Of: v.Get("of"), Limit: feedLength}
	if !slices.Contains([]string{api.FeedAll, api.FeedTrace, api.FeedErrors, api.FeedReplay}, q.View) {
		return q, fmt.Errorf("cannot tell %q: want feed, trace, errors or replay", fleet.Line(q.View, 40))
	}
	if named := q.View == api.FeedTrace || q.View == api.FeedReplay; named != (q.Of != "") {
		return q, fmt.Errorf("cannot tell %s of %q: a trace and a replay name an agent, the others none", q.View, fleet.Line(q.Of, 80))
	}
	if text := v.Get("since"); text != "" {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return q, fmt.Errorf("cannot tell what was since %q: want a time like 2006-01-02T15:04:05Z", fleet.Line(text, 40))
		}
		q.Since = t
	}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > feedAtMost {
			return q, fmt.Errorf("cannot tell %q things: want 1 to %d", fleet.Line(text, 20), feedAtMost)
		}
		q.Limit = n
	}
	return q, nil
}

// feedCrew is the agents a feed is about; the zero one is all.
type feedCrew struct {
	names []string
	procs map[fleet.ProcessID]string // of agents that carry no marker
}

// only is the one subject the feed is about, if it is one.
func (c feedCrew) only() fleet.Subject {
	if len(c.names) == 1 {
		return fleet.Subject{Kind: fleet.KindAgent, Name: c.names[0]}
	}
	return fleet.Subject{}
}

func (c feedCrew) has(agent string) bool { return len(c.names) == 0 || slices.Contains(c.names, agent) }

// crewOf finds whom a trace (an agent, or all with a task) or a replay (an agent
// with all below it, or a run) is about.
func (s *server) crewOf(ctx context.Context, q api.FeedQuery) (feedCrew, error) {
	pass, err := s.Cycle.Look(ctx, glance)
	if err != nil {
		return feedCrew{}, cannotLook(err)
	}
	all, err := s.Control.Registry(ctx)
	if err != nil {
		return feedCrew{}, err
	}
	c := feedCrew{names: crewNames(q, all), procs: map[fleet.ProcessID]string{}}
	for _, a := range pass.Snapshot.Agents.Value {
		if a.Name == q.Of && !slices.Contains(c.names, a.Name) {
			c.names = append(c.names, a.Name)
		}
		if !slices.Contains(c.names, a.Name) {
			continue
		}
		for _, id := range append(a.Procs, a.Process) {
			c.procs[id] = a.Name
		}
	}
	if len(c.names) == 0 {
		return c, noAgent(q.View, q.Of)
	}
	return c, nil
}

func crewNames(q api.FeedQuery, all []fleet.Registration) (names []string) {
	for _, r := range all {
		about := r.Name == q.Of
		if q.View == api.FeedTrace {
			about = about || r.Task == q.Of
		} else {
			about = about || r.Run == q.Of || isBelow(r, q.Of, all)
		}
		if about {
			names = append(names, r.Name)
		}
	}
	return names
}

// isBelow says whether an agent works for another one, however far down.
func isBelow(r fleet.Registration, above string, all []fleet.Registration) bool {
	for range all { // a circle of parents ends too
		if r.Parent == "" {
			return false
		}
		if r.Parent == above {
			return true
		}
		parent := view.FindRegistration(all, r.Parent)
		if parent == nil {
			return false
		}
		r = *parent
	}
	return false
}

// feedView puts both logs into the order of time.
func feedView(q api.FeedQuery, crew feedCrew, events []fleet.Event, hooks []fleet.HookEvent) api.Feed {
	out := api.Feed{Of: append([]string{}, crew.names...), Entries: []api.FeedEntry{}}
	for _, e := range events {
		if entry := eventEntry(e); crew.has(entry.Agent) {
			out.Entries = append(out.Entries, entry)
		}
	}
	for _, entry := range hookEntries(hooks, crew.procs) {
		if crew.has(entry.Agent) {
			out.Entries = append(out.Entries, entry)
		}
	}
	out.Entries = slices.DeleteFunc(out.Entries, func(e api.FeedEntry) bool {
		return e.At.Before(q.Since) || q.View == api.FeedErrors && !e.Bad
	})
	slices.SortStableFunc(out.Entries, func(a, b api.FeedEntry) int { return a.At.Compare(b.At) })
	out.Entries = out.Entries[max(0, len(out.Entries)-q.Limit):]
	return out
}

func eventEntry(e fleet.Event) api.FeedEntry {
	out := api.FeedEntry{ID: "e" + strconv.FormatInt(e.ID, 10), At: e.At.Wall.UTC(), Source: "custos", Kind: e.Kind,
		About: e.Alert.Rule, Text: fleet.Line(e.Text, 400), Bad: isBad(e)}
	if of := eventSubject(e); of.Kind == fleet.KindAgent {
		out.Agent = of.Name
	} else if of != (fleet.Subject{}) {
		out.About = of.String()
	}
	return out
}

// isBad says whether an event tells that something went wrong.
func isBad(e fleet.Event) bool {
	switch e.Kind {
	case "alert.firing", "agent.failed", "recovery_failed", "recovery_exhausted", "order.refused", "order.expired", "amnesia":
		return true
	case "agent.ended":
		return e.Text != "ended with status 0" && !strings.Contains(e.Text, "asked by")
	case "action.ended": // do: status: effect: why
		_, rest, _ := strings.Cut(e.Text, ": ")
		status, _, _ := strings.Cut(rest, ": ")
		return slices.Contains([]fleet.ResultStatus{fleet.ResultFailed, fleet.ResultUnverified, fleet.ResultInDoubt}, fleet.ResultStatus(status))
	}
	return false
}

// hookEntries puts into words what agents told. The end of a tool call says how
// long it took, where its begin is known too.
func hookEntries(hooks []fleet.HookEvent, procs map[fleet.ProcessID]string) []api.FeedEntry {
	began := map[string]fleet.Instant{}
	out := make([]api.FeedEntry, 0, len(hooks))
	for _, h := range hooks {
		entry := api.FeedEntry{ID: "h" + h.ID, At: h.At.Wall.UTC(), Source: "agent", Kind: string(h.Event), Agent: hookAgent(h, procs),
			Text: hookText(h), Bad: h.Event == fleet.HookFailure || h.Event == fleet.HookToolEnd && h.Text == "failed"}
		call := h.Key() + " " + h.CallID
		switch {
		case h.CallID == "":
		case h.Event == fleet.HookToolBegin:
			began[call] = h.At
		case h.Event == fleet.HookToolEnd:
			if from, ok := began[call]; ok {
				entry.Took = max(h.At.Since(from), 0).Round(time.Millisecond).String()
				delete(began, call)
			}
		}
		out = append(out, entry)
	}
	return out
}

func hookAgent(h fleet.HookEvent, procs map[fleet.ProcessID]string) string {
	if h.Agent != "" {
		return h.Agent
	}
	if name := procs[h.Process]; name != "" {
		return name
	}
	if h.Process.PID != 0 {
		return fmt.Sprintf("%s (pid %d)", h.Kind, h.Process.PID)
	}
	return h.Kind
}

func hookText(h fleet.HookEvent) string {
	words := []string{}
	add := func(list ...string) {
		for _, w := range list {
			if w != "" {
				words = append(words, w)
			}
		}
	}
	add(h.Tool, h.Args, h.Text)
	if used, ok := h.Context.Get(); ok {
		add(fmt.Sprintf("context %.0f %%", used))
	}
	if !h.Until.IsZero() {
		add("until " + h.Until.Wall.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return fleet.Line(fleet.Redact(strings.Join(words, " ")), 400)
}
