package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"custos/internal/api"
)

// timelineData is what happened, of all or of what is chosen; the newest first.
type timelineData struct {
	Rows  []api.FeedEntry
	Bad   int // of Rows
	Asked timelineAsked
	Full  bool     // there may be more before the first
	Older string   // address of what was before; "" for none
	Kinds []string // that can be chosen

	At     time.Time // a moment of the past that a person looks at; zero: none
	Then   *api.Then // the fleet at it
	Before string    // why nothing is known of it
	States []stateCount
	Steps  []step
}

// step leads to another moment.
type step struct{ To, Text string }

// timelineAsked is what is chosen.
type timelineAsked struct {
	Kind, Agent string
	Errors      bool
	Until       time.Time // zero: up to now
}

// entriesAPage is how much of what happened is shown at once.
const entriesAPage = 200

// timelineKinds are the kinds of what happens that a person chooses among.
func timelineKinds() []string {
	return []string{"alert", "action", "order", "agent", "recovery", "run", "prompt", "tool", "permission", "question", "stop", "failure", "session", "patrol", "web"}
}

// when reads a moment of an address, as forms and links of the page write it.
func when(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", dayForm} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, api.AsBadInput(fmt.Errorf("cannot show what was at that time: want one like 2006-01-02T15:04 (UTC)"))
}

func (s *site) timeline(ctx context.Context, r *http.Request) (page, error) {
	v := r.URL.Query()
	until, err := when(v.Get("until"))
	at, err2 := when(v.Get("at"))
	if err := errors.Join(err, err2); err != nil {
		return page{}, api.AsBadInput(err)
	}
	if until.IsZero() && !at.IsZero() {
		until = at.Add(1) // with what happened at it
	}
	d := timelineData{Kinds: timelineKinds(), Asked: timelineAsked{Kind: v.Get("kind"), Agent: v.Get("agent"), Errors: v.Get("errors") != "", Until: until}}
	if err := s.then(ctx, &d, at); err != nil {
		return page{}, err
	}
	f, err := s.api.Feed(ctx, d.Asked.query())
	if err != nil {
		return page{}, err
	}
	if d.Full = len(f.Entries) >= entriesAPage; d.Full {
		d.Older = d.Asked.before(f.Entries[0].At)
	}
	d.Rows = f.Entries
	if d.Asked.Errors && d.Asked.Agent != "" { // the feed knows one of the two
		d.Rows = slices.DeleteFunc(d.Rows, func(e api.FeedEntry) bool { return !e.Bad })
	}
	slices.Reverse(d.Rows)
	for _, e := range d.Rows {
		if e.Bad {
			d.Bad++
		}
	}
	return page{Name: "timeline", Title: "Timeline", At: s.Now(), Still: !until.IsZero(), Data: d}, nil
}

// then adds the fleet as it was at a moment.
func (s *site) then(ctx context.Context, d *timelineData, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	v, err := s.api.Then(ctx, at)
	if err != nil {
		return err
	}
	d.At, d.Then = at, &v
	var rows []api.AgentRow
	for _, a := range v.Agents {
		rows = append(rows, api.AgentRow{State: a.State})
	}
	d.States = states(rows)
	switch {
	case v.Begins == nil:
		d.Before = "nothing is written down"
	case v.Begins.After(at):
		d.Before = "what is written down begins at " + v.Begins.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	for _, by := range []struct {
		by   time.Duration
		text string
	}{{-time.Hour, "an hour before"}, {-10 * time.Minute, "10 minutes before"}, {-time.Minute, "a minute before"}, {time.Minute, "a minute after"}, {10 * time.Minute, "10 minutes after"}, {time.Hour, "an hour after"}} {
		if to := at.Add(by.by); !to.After(v.At) {
			d.Steps = append(d.Steps, step{thenPath(to), by.text})
		}
	}
	return nil
}

func thenPath(t time.Time) string {
	return "/timeline?at=" + url.QueryEscape(t.UTC().Format(time.RFC3339Nano))
}

// query is what is asked of the API.
func (a timelineAsked) query() api.FeedQuery {
	q := api.FeedQuery{Kind: a.Kind, Until: a.Until, Limit: entriesAPage}
	switch {
	case a.Agent != "":
		q.View, q.Of = api.FeedTrace, a.Agent
	case a.Errors:
		q.View = api.FeedErrors
	}
	return q
}

// before is the address of the same choice, up to a moment and with it: what was written
// down together has one moment, and is rather shown twice than never.
func (a timelineAsked) before(t time.Time) string {
	if with := t.Add(1); !with.Equal(a.Until) {
		t = with
	}
	v := url.Values{"until": {t.UTC().Format(time.RFC3339Nano)}}
	for key, value := range map[string]string{"kind": a.Kind, "agent": a.Agent, "errors": map[bool]string{true: "1"}[a.Errors]} {
		if value != "" {
			v.Set(key, value)
		}
	}
	return "/timeline?" + v.Encode()
}
