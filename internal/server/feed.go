package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	crew := view.FeedOf{}
	if q.Of != "" {
		if crew, err = s.crewOf(req.Context(), q); err != nil {
			return nil, err
		}
	}
	read := eventsAFeed
	if q.View == api.FeedAll {
		read = q.Limit
	}
	events, err := s.Chronicle.Events(req.Context(), EventFilter{Limit: read, Subject: crew.Only()})
	if err != nil {
		return nil, err
	}
	hooks, err := s.HookLog.HookEvents(req.Context(), HookFilter{Since: fleet.Instant{Wall: q.Since}, Limit: read})
	if err != nil {
		return nil, err
	}
	return view.Feed(q, crew, events, hooks), nil
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

// crewOf finds whom a trace (an agent, or all with a task) or a replay (an agent
// with all below it, or a run) is about.
func (s *server) crewOf(ctx context.Context, q api.FeedQuery) (view.FeedOf, error) {
	pass, err := s.Cycle.Look(ctx, glance)
	if err != nil {
		return view.FeedOf{}, cannotLook(err)
	}
	all, err := s.Control.Registry(ctx)
	if err != nil {
		return view.FeedOf{}, err
	}
	c := view.FeedOf{Names: crewNames(q, all), Procs: map[fleet.ProcessID]string{}}
	for _, a := range pass.Snapshot.Agents.Value {
		if a.Name == q.Of && !slices.Contains(c.Names, a.Name) {
			c.Names = append(c.Names, a.Name)
		}
		if !slices.Contains(c.Names, a.Name) {
			continue
		}
		for _, id := range append(a.Procs, a.Process) {
			c.Procs[id] = a.Name
		}
	}
	if len(c.Names) == 0 {
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
