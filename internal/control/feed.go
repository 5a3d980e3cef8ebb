package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/view"
)

// How much a feed shows: unless more is asked for, and at most. Where
// not everything is shown, it reads eventsAFeed lines of either log to find what is shown.
const (
	feedLength  = 200
	feedAtMost  = 5000
	eventsAFeed = 20000
)

func (c *Control) feed(ctx context.Context, call Call) (any, error) {
	q, err := feedQuery(call.Ask)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	of := view.FeedOf{}
	if q.Of != "" {
		if of, err = c.agentsOf(ctx, q); err != nil {
			return nil, err
		}
	}
	read := eventsAFeed
	if q.View == api.FeedAll && q.Kind == "" && q.Until.IsZero() {
		read = q.Limit
	}
	events, err := c.Events(ctx, EventFilter{Limit: read, Subject: of.Only()})
	if err != nil {
		return nil, err
	}
	hooks, err := c.History.HookEvents(ctx, HookFilter{Since: fleet.Instant{Wall: q.Since}, Limit: read})
	if err != nil {
		return nil, err
	}
	return view.Feed(q, of, events, hooks), nil
}

func feedQuery(ask func(string) string) (api.FeedQuery, error) {
	q := api.FeedQuery{View: cmp.Or(ask("view"), api.FeedAll), Of: ask("of"), Kind: ask("kind"), Limit: feedLength}
	if !slices.Contains([]string{api.FeedAll, api.FeedTrace, api.FeedErrors, api.FeedReplay}, q.View) {
		return q, fmt.Errorf("cannot show %q: want feed, trace, errors or replay", fleet.Line(q.View, 40))
	}
	if named := q.View == api.FeedTrace || q.View == api.FeedReplay; named != (q.Of != "") {
		return q, fmt.Errorf("cannot show %s of %q: a trace and a replay name an agent, the others none", q.View, fleet.Line(q.Of, 80))
	}
	for _, bound := range []struct {
		name string
		into *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		text := ask(bound.name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return q, fmt.Errorf("cannot show what was %s %q: want a time like 2006-01-02T15:04:05Z", bound.name, fleet.Line(text, 40))
		}
		*bound.into = t
	}
	if text := ask("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > feedAtMost {
			return q, fmt.Errorf("cannot show %q entries: want 1 to %d", fleet.Line(text, 20), feedAtMost)
		}
		q.Limit = n
	}
	return q, nil
}

// agentsOf finds whom a trace (an agent, or all with a task) or a replay (an agent
// with all below it, or a run) is about.
func (c *Control) agentsOf(ctx context.Context, q api.FeedQuery) (view.FeedOf, error) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return view.FeedOf{}, CannotLook(err)
	}
	all, err := c.Registry(ctx)
	if err != nil {
		return view.FeedOf{}, err
	}
	of := view.FeedOf{Names: namesOf(q, all), Procs: map[fleet.ProcessID]string{}}
	for _, a := range pass.Snapshot.Agents.Value {
		if a.Name == q.Of && !slices.Contains(of.Names, a.Name) {
			of.Names = append(of.Names, a.Name)
		}
		if !slices.Contains(of.Names, a.Name) {
			continue
		}
		for _, id := range append(a.Procs, a.Process) {
			of.Procs[id] = a.Name
		}
	}
	if len(of.Names) == 0 {
		return of, noAgent(q.View, q.Of)
	}
	return of, nil
}

func namesOf(q api.FeedQuery, all []fleet.Registration) (names []string) {
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
		parent := ledger.Registration(all, r.Parent)
		if parent == nil {
			return false
		}
		r = *parent
	}
	return false
}
