package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"custos/internal/api"
)

// What a person chooses is what the daemon is asked for, and the rows are those it tells,
// counted, the newest first.
func TestTheTimelineShowsWhatIsChosen(t *testing.T) {
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	for path, want := range map[string]string{
		"/timeline":                           "limit=200",
		"/timeline?kind=tool":                 "kind=tool&limit=200",
		"/timeline?errors=1":                  "limit=200&view=errors",
		"/timeline?agent=a&kind=alert":        "kind=alert&limit=200&of=a&view=trace",
		"/timeline?until=2026-11-24T10%3A00":  "limit=200&until=2026-11-24T10%3A00%3A00Z",
		"/timeline?agent=a&errors=1&kind=run": "kind=run&limit=200&of=a&view=trace",
	} {
		w := newWorld(t)
		w.answers["GET /v1/feed"] = api.Feed{Entries: []api.FeedEntry{{ID: "e1", At: at, Kind: "alert.firing", About: "host/box", Bad: true, Source: "custos"}, {ID: "h2", At: at.Add(time.Minute), Kind: "tool-end", Agent: "a", Took: "2s", Source: "agent"}}}
		doc := parsed(t, w.get(t, path))
		if w.queries["GET /v1/feed"] != want {
			t.Errorf("%s asked for %q, want %q", path, w.queries["GET /v1/feed"], want)
		}
		var ids string
		for _, tr := range all(doc, func(n *html.Node) bool { return attr(n, "data-entry") != "" }) {
			ids += attr(tr, "data-entry")
		}
		title, entries := text(byID(t, doc, "entries-title")), text(byID(t, doc, "entries"))
		if isBoth := strings.Contains(path, "agent=a&errors"); isBoth && (ids != "e1" || !strings.HasPrefix(title, "1 thing happened")) ||
			!isBoth && (ids != "h2e1" || !strings.HasPrefix(title, "2 things happened")) || !strings.Contains(entries, "1 of them went wrong") {
			t.Errorf("%s shows %q under %q: %s", path, ids, title, entries)
		}
	}
	w := newWorld(t)
	if rec := w.get(t, "/timeline?until=noon"); rec.Code != 400 {
		t.Errorf("at no time: %s", describe(rec))
	}
}

// By the link to what was before each thing is reached, also where many have one moment.
func TestTheTimelineGoesBackToTheBeginning(t *testing.T) {
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	var log []api.FeedEntry
	for n := range 1000 {
		log = append(log, api.FeedEntry{ID: fmt.Sprint(n), At: at.Add(time.Duration(n/150) * time.Second), Kind: "patrol"})
	}
	w := newWorld(t)
	w.held = w.made(t)
	shown, path := map[string]bool{}, "/timeline?kind=patrol"
	for pages := 0; path != "" && pages < 20; pages++ {
		u, _ := url.Parse(path)
		until, _ := time.Parse(time.RFC3339Nano, u.Query().Get("until"))
		var found []api.FeedEntry
		for _, e := range log {
			if until.IsZero() || e.At.Before(until) {
				found = append(found, e)
			}
		}
		w.answers["GET /v1/feed"] = api.Feed{Entries: found[max(0, len(found)-200):]}
		doc := parsed(t, w.get(t, path))
		for _, tr := range all(doc, func(n *html.Node) bool { return attr(n, "data-entry") != "" }) {
			shown[attr(tr, "data-entry")] = true
		}
		path = ""
		for _, a := range all(doc, func(n *html.Node) bool { return n.Data == "a" && text(n) == "What was before" }) {
			path = attr(a, "href")
		}
	}
	if path != "" || len(shown) != len(log) {
		t.Errorf("%d of %d are shown, then %q", len(shown), len(log), path)
	}
}

// A moment of the past is reached by the time of a row, and shows the fleet as it was told
// of then, counted of the rows; a moment before all that is written down is unknown.
func TestAMomentOfThePastIsShown(t *testing.T) {
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	begins := at.Add(-time.Hour)
	w := newWorld(t)
	w.answers["GET /v1/feed"] = api.Feed{Entries: []api.FeedEntry{{ID: "e1", At: at}}}
	then := api.Then{At: at.Add(5 * time.Minute), Moment: at, Begins: &begins, Unwatched: true, Agents: []api.ThenAgent{{Name: "a", State: "working", Told: at}, {Name: "b", State: "unknown", Told: at}}, Alerts: []api.ThenAlert{{Rule: "lock-dead", Subject: "lock//l"}}}
	w.answers["GET /v1/then"] = then
	path := ""
	for _, a := range all(byID(t, parsed(t, w.get(t, "/timeline")), "entries"), func(n *html.Node) bool { return n.Data == "a" && strings.HasPrefix(attr(n, "href"), "/timeline?at=") }) {
		path = attr(a, "href")
	}
	doc := parsed(t, w.get(t, path))
	if w.queries["GET /v1/then"] != "at=2026-11-24T09%3A00%3A00Z" || w.queries["GET /v1/feed"] != "limit=200&until=2026-11-24T09%3A00%3A00.000000001Z" {
		t.Errorf("%s asked for %q and %q", path, w.queries["GET /v1/then"], w.queries["GET /v1/feed"])
	}
	section := byID(t, doc, "then")
	if got := figures(section); has(section, "data-then") != 2 || has(section, "data-alert") != 1 || got["working"] != 1 || got["unknown"] != 1 || !strings.Contains(text(section), "2 agents") || !strings.Contains(text(section), "1 alert") || !strings.Contains(text(section), "No daemon ran then") || strings.Contains(text(section), "nothing is known") {
		t.Errorf("counted %v: %s", got, text(section))
	}
	var steps []string
	for _, a := range all(section, func(n *html.Node) bool { return strings.HasPrefix(attr(n, "href"), "/timeline?at=") }) {
		steps = append(steps, text(a))
	}
	if got := strings.Join(steps, ", "); got != "an hour before, 10 minutes before, a minute before, a minute after" {
		t.Errorf("it leads to %s", got)
	}
	begins = at.Add(time.Minute)
	w.answers["GET /v1/then"] = then
	if got := text(byID(t, parsed(t, w.get(t, path)), "then")); !strings.Contains(got, "Of that time nothing is known: what is written down begins at 2026-11-24 09:01:00 UTC") {
		t.Errorf("before the log: %s", got)
	}
}
