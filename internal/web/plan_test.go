package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"custos/internal/api"
)

// has says how many elements have an attribute.
func has(doc *html.Node, name string) int {
	return len(all(doc, func(n *html.Node) bool { return attr(n, name) != "" }))
}

// Each head of the plan says how many rows stand below it.
func TestThePlanCountsWhatItShows(t *testing.T) {
	w := newWorld(t)
	w.held = w.made(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := func(what string) int { return rapid.IntRange(0, 4).Draw(rt, what) }
		v := api.Plan{Actions: make([]api.Deed, n("actions")), Skipped: make([]api.Refusal, n("skipped")), CannotTell: make([]api.Doubt, n("doubts")),
			Moves: make([]api.Move, n("moves")), Held: make([]api.HeldMove, n("held")), Idle: make([]api.Idle, n("idle"))}
		for i := range v.Actions {
			v.Actions[i].Do = "remove-lock"
		}
		for i := range v.Skipped {
			v.Skipped[i].Do = "stop"
		}
		for i := range v.CannotTell {
			v.CannotTell[i].Rule = "disk-full"
		}
		for i := range v.Moves {
			v.Moves[i].Record = "gate/g1"
		}
		for i := range v.Held {
			v.Held[i].Record = "run/r1"
		}
		for i := range v.Idle {
			v.Idle[i].Subject = "host/box"
		}
		w.answers["GET /v1/plan"] = v
		doc := parsed(t, w.get(t, "/plan"))
		for _, c := range []struct {
			id, row   string
			n         int
			one, more string
			isKept    bool // also for none
		}{
			{"would", "data-deed", len(v.Actions), "action would", "actions would", true}, {"refused", "data-refused", len(v.Skipped), "action is", "actions are", true},
			{"doubts", "data-doubt", len(v.CannotTell), "rule", "rules", true}, {"moves", "data-move", len(v.Moves), "record", "records", false},
			{"held", "data-held", len(v.Held), "change", "changes", false}, {"idle", "data-idle", len(v.Idle), "finding", "findings", false},
		} {
			if c.n == 0 && !c.isKept {
				if len(all(doc, func(n *html.Node) bool { return attr(n, "id") == c.id })) > 0 {
					rt.Fatalf("%s has a section and no rows", c.id)
				}
				continue
			}
			section := byID(t, doc, c.id)
			if got := text(byID(t, doc, c.id+"-title")); has(section, c.row) != c.n || !strings.HasPrefix(got, plural(c.n, c.one, c.more)) {
				rt.Fatalf("%s: %d rows of %d under %q", c.id, has(section, c.row), c.n, got)
			}
		}
	})
}

// What is refused is shown with its guard, its reason and its end; what would be done with
// the exact commands and what holds it back.
func TestARefusalHasItsReasonAndItsEnd(t *testing.T) {
	until := time.Date(2026, 11, 24, 10, 30, 0, 0, time.UTC)
	w := newWorld(t)
	w.answers["GET /v1/plan"] = api.Plan{
		Actions: []api.Deed{{Do: "remove-lock", Subject: "lock//a b", Priority: "P2", Rule: "lock-dead", Why: "its owner is gone", Commands: []api.Command{{Argv: []string{"rm", "/a b"}, Note: "only that"}},
			Held: &api.Refusal{Guard: "mode", Why: "observe", Until: &until, Hint: "custos patrol --apply"}}},
		Skipped: []api.Refusal{{Do: "recover", Subject: "agent/x", Priority: "P1", Rule: "agent-crashed", Guard: "cooldown", Why: "it was done 2m ago", Until: &until, Also: []string{"attempts: 3 are spent"}, Hint: "custos recover x"},
			{Do: "stop", Subject: "agent/y", Guard: "foreign", Why: "it is not ours"}}}
	doc := parsed(t, w.get(t, "/plan"))
	would, refused := text(byID(t, doc, "would")), text(byID(t, doc, "refused"))
	for _, want := range []string{"rm '/a b'", "only that", "1 of them waits for a person's word", "before 2026-11-24 10:30 UTC", "mode", "custos patrol --apply"} {
		if !strings.Contains(would, want) {
			t.Errorf("no %q in %q", want, would)
		}
	}
	for _, want := range []string{"cooldown", "it was done 2m ago", "and attempts: 3 are spent", "2026-11-24 10:30 UTC", "custos recover x", "it is not ours", "something changes"} {
		if !strings.Contains(refused, want) {
			t.Errorf("no %q in %q", want, refused)
		}
	}
	if len(all(doc, func(n *html.Node) bool { return attr(n, "href") == "/why?of="+url.QueryEscape("lock//a b") })) != 1 {
		t.Error("it does not lead to why")
	}
}

// A plan of nothing is none where rules cannot be answered: that is said.
func TestAPlanThatCannotTellIsNotEmpty(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/plan"] = api.Plan{CannotTell: []api.Doubt{{Rule: "disk-full", Subject: "mount//", Why: "it was not seen"}}}
	if got := text(byID(t, parsed(t, w.get(t, "/plan")), "would")); !strings.Contains(got, "as far as can be told: 1 rule is not answered") {
		t.Errorf("it says %q", got)
	}
	w.answers["GET /v1/plan"] = api.Plan{}
	if got := text(byID(t, parsed(t, w.get(t, "/plan")), "would")); !strings.HasSuffix(got, "Nothing.") {
		t.Errorf("an empty one says %q", got)
	}
}

// Why is asked of one thing, by what the form sends; what there is not is said.
func TestWhyTellsTheStoryOfOneThing(t *testing.T) {
	w := newWorld(t)
	if got := w.get(t, "/why"); got.Code != 200 || len(w.asked) != 2 { // how Custos itself is
		t.Errorf("of nothing: asked %q", w.asked)
	}
	w.answers["GET /v1/story"] = api.Story{Subject: "agent/a b", Facts: []string{"pid 7"}, Skipped: []api.Refusal{{Do: "stop", Guard: "foreign", Why: "not ours"}}}
	doc := parsed(t, w.get(t, "/why?of=a+b"))
	if got := text(byID(t, doc, "facts")); !strings.Contains(got, "pid 7") || strings.Contains(got, "No rule has anything") || len(all(doc, func(n *html.Node) bool { return attr(n, "href") == "/agents/a%20b" })) != 1 {
		t.Errorf("its facts: %q", got)
	}
	w.answers["GET /v1/story"] = &api.Error{Kind: api.NotFound, Message: `cannot find "zz"`, Hint: "custos ps"}
	if rec := w.get(t, "/why?of=zz"); rec.Code != 404 || !strings.Contains(rec.Body.String(), "custos ps") {
		t.Errorf("of what there is not: %s", describe(rec))
	}
}
