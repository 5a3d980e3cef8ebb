package web

import (
	"slices"
	"testing"

	"golang.org/x/net/html"
)

// Each page of the menu is there, and says where it is: once in the row and once in what a
// phone opens. A page below one of them belongs to it; a link has no menu.
func TestTheMenuSaysWhereOneIs(t *testing.T) {
	w := newWorld(t)
	saying(w, "x")
	marks := func(path string) (out []string) {
		rec := w.get(t, path)
		if rec.Code != 200 {
			t.Fatalf("%s: %s", path, describe(rec))
		}
		for _, nav := range all(parsed(t, rec), func(n *html.Node) bool { return n.Data == "nav" && attr(n, "aria-label") == "Pages" }) {
			links := all(nav, func(n *html.Node) bool { return n.Data == "a" })
			if len(links) != len(menu()) {
				t.Errorf("%s: %d links, want %d", path, len(links), len(menu()))
			}
			for _, a := range links {
				if current := attr(a, "aria-current"); current != "" {
					out = append(out, attr(a, "href")+" "+current)
				}
			}
		}
		return out
	}
	for _, l := range menu() {
		if got, want := marks(l.Path), []string{l.Path + " page", l.Path + " page"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", l.Path, got, want)
		}
	}
	if got, want := marks("/agents/builder"), []string{"/agents true", "/agents true"}; !slices.Equal(got, want) {
		t.Errorf("an agent: %q, want %q", got, want)
	}
	w.sessions["page"] = Session{ID: "q", Link: true, Page: "/agents"}
	if navs := all(parsed(t, w.get(t, "/agents", cookie("page"))), func(n *html.Node) bool { return n.Data == "nav" }); len(navs) != 0 {
		t.Errorf("a link has %d menus", len(navs))
	}
}
