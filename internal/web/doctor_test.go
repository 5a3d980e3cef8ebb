package web

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"custos/internal/api"
)

// figures are the numbers of a list of counts, by their words.
func figures(section *html.Node) map[string]int {
	out := map[string]int{}
	for _, li := range all(section, func(n *html.Node) bool { return n.Data == "li" }) {
		var n int
		words := text(li)
		if _, err := fmt.Sscanf(words, "%d ", &n); err == nil {
			_, words, _ = strings.Cut(words, " ")
			out[words] = n
		}
	}
	return out
}

// What is bad is first, each state is counted of the rows, and what cannot be told is a
// state of its own, also when there is none of it.
func TestDoctorCountsWhatItShows(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/doctor"] = api.Doctor{Checks: []api.DoctorCheck{{Name: "a", State: api.CheckOK}, {Name: "b", State: api.CheckCannot, Why: "it does not answer"}, {Name: "c", State: api.CheckBad, Command: "mend c"}, {Name: "d", State: api.CheckOK}}}
	doc := parsed(t, w.get(t, "/doctor"))
	got := figures(byID(t, doc, "counts"))
	if want := (map[string]int{"bad": 1, "cannot tell": 1, "warn": 0, "ok": 2}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	var order string
	for _, tr := range all(doc, func(n *html.Node) bool { return attr(n, "data-check") != "" }) {
		order += attr(tr, "data-check")
	}
	if order != "cbad" || !strings.Contains(text(byID(t, doc, "checks")), "mend c") {
		t.Errorf("shown as %q: %s", order, text(byID(t, doc, "checks")))
	}
	w.answers["GET /v1/doctor"] = api.Doctor{}
	if doc = parsed(t, w.get(t, "/doctor")); figures(byID(t, doc, "counts"))["cannot tell"] != 0 || !strings.Contains(text(byID(t, doc, "checks")), "nothing is known") {
		t.Errorf("no check reads as well: %s", text(byID(t, doc, "checks")))
	}
}

// Checks that take long are made when a person asks for them, and not again by themselves.
func TestSlowChecksAreMadeOnDemand(t *testing.T) {
	for path, want := range map[string]string{
		"/doctor": "category=dependencies&category=structure&category=config&category=version&version=v9", "/doctor?all=1": "version=v9", "/doctor?category=disk": "category=disk&version=v9",
	} {
		w := newWorld(t)
		w.answers["GET /v1/status"] = api.Status{Version: "v9"}
		w.answers["GET /v1/doctor"] = api.Doctor{}
		rec := w.get(t, path)
		if w.queries["GET /v1/doctor"] != want {
			t.Errorf("%s asked for %q", path, w.queries["GET /v1/doctor"])
		}
		if len(all(parsed(t, rec), func(n *html.Node) bool { return n.Data == "main" && hasAttr(n, "data-still") })) != 1 {
			t.Errorf("%s is made again by itself", path)
		}
	}
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}
