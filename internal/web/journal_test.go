package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"custos/internal/api"
)

// An action is one row, with what was meant and what became of it; of one whose end is not
// written down that is not known.
func TestTheJournalPairsIntentAndResult(t *testing.T) {
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	entry := func(minute int, kind, id, text string) api.FeedEntry {
		return api.FeedEntry{ID: fmt.Sprint(minute), At: at.Add(time.Duration(minute) * time.Minute), Kind: kind, Action: id, About: "lock//a", Text: text}
	}
	w := newWorld(t)
	w.answers["GET /v1/journal"] = api.Journal{Day: "2026-11-24", Path: "/j/2026-11-24.md", Text: "# the day"}
	w.answers["GET /v1/feed"] = api.Feed{Entries: []api.FeedEntry{
		entry(1, "action.ended", "0", "rotate-log: done: 41 MB freed"), entry(2, "action.planned", "1", "remove-lock: its owner: gone"), entry(3, "action.started", "1", "remove-lock"),
		entry(4, "action.planned", "2", "remove-lock: again"), entry(5, "action.skipped", "3", "stop: mode: observe"), entry(6, "action.ended", "1", "remove-lock: failed: no room"),
	}}
	doc := parsed(t, w.get(t, "/journal?day=2026-11-24"))
	if got, want := figures(byID(t, doc, "deeds")), (map[string]int{"done": 1, "failed": 1, "unknown": 1}); fmt.Sprint(got) != fmt.Sprint(want) || text(byID(t, doc, "deeds-title")) != "3 actions" {
		t.Errorf("counted %v under %q", got, text(byID(t, doc, "deeds-title")))
	}
	var rows []string
	for _, tr := range all(doc, func(n *html.Node) bool { return attr(n, "data-deed") != "" }) {
		rows = append(rows, text(tr))
	}
	if want := []string{"remove-lock lock//a 2026-11-24 09:04 UTC again unknown no end of it is written down",
		"remove-lock lock//a 2026-11-24 09:02 UTC its owner: gone failed 2026-11-24 09:06 UTC no room",
		"rotate-log lock//a written down before this day done 2026-11-24 09:01 UTC 41 MB freed"}; !slices.Equal(rows, want) {
		t.Errorf("shown\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if q, _ := url.ParseQuery(w.queries["GET /v1/feed"]); q.Get("since") != "2026-11-24T00:00:00Z" || q.Get("until") != "2026-11-25T00:00:00Z" || q.Get("kind") != "action" {
		t.Errorf("asked for %v", q)
	}
	if got := text(byID(t, doc, "text")); !strings.Contains(got, "# the day") {
		t.Errorf("as written: %q", got)
	}
}

// A day without a patrol has a page: what was done otherwise is on it. A day that is none
// is refused.
func TestADayWithoutAJournal(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/feed"] = api.Feed{}
	doc := parsed(t, w.get(t, "/journal?day=2026-11-20"))
	if got := text(byID(t, doc, "text")); !strings.Contains(got, "No patrol is written down of it") || !strings.Contains(text(byID(t, doc, "deeds")), "Nothing was done") {
		t.Errorf("it says %q", got)
	}
	w.answers["GET /v1/journal"] = &api.Error{Kind: api.BadInput, Message: "want a day"}
	if rec := w.get(t, "/journal?day=x"); rec.Code != 400 {
		t.Errorf("of no day: %s", describe(rec))
	}
}

// The morning page shows as many rows as its heads say; what is not known is not none.
func TestTheMorningPage(t *testing.T) {
	no, two := false, 2
	w := newWorld(t)
	w.answers["GET /v1/report"] = api.Report{Agents: []api.ReportAgent{{Name: "a", State: "idle", Commits: &two, Merged: &no}, {Name: "b", State: "unknown", Blind: "its worktree is gone"}},
		Did: []api.ReportDeed{{Do: "rotate-log", Subject: "log//l", Result: "done"}}, Refused: []api.ReportRefusal{{Do: "recover", Subject: "agent/a", Guard: "attempts", Now: true}},
		Alerts: []api.ReportAlert{{Rule: "lock-dead", Subject: "lock//a", Times: 2}}, NotSeen: []api.PartSeen{{Part: "repos", Status: "unknown"}}}
	doc := parsed(t, w.get(t, "/morning?since=7d"))
	for id, row := range map[string]string{"made": "data-agent", "did": "data-did", "refused": "data-refused", "began": "data-began"} {
		if n := has(byID(t, doc, id), row); !strings.HasPrefix(text(byID(t, doc, id+"-title")), fmt.Sprint(n)+" ") || n == 0 {
			t.Errorf("%s has %d rows under %q", id, n, text(byID(t, doc, id+"-title")))
		}
	}
	made, needs := text(byID(t, doc, "made")), text(byID(t, doc, "needs"))
	for _, want := range []string{"a idle 2 unknown unknown no", "b unknown unknown: its worktree is gone unknown unknown unknown"} {
		if !strings.Contains(made, want) {
			t.Errorf("no %q in %q", want, made)
		}
	}
	if !strings.Contains(needs, "not all is seen") || w.queries["GET /v1/report"] != "since=7d" {
		t.Errorf("what waits: %q; asked %q", needs, w.queries["GET /v1/report"])
	}
}
