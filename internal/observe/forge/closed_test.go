package forge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/forgetest"
)

// What a phase file's issue is: by memory, and asked at once where it is not there.
func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		for _, before := range []bool{false, true} { // a look came before the question
			w, repos := newWorld(t, kind, "shop", "blog")
			shop := repos["shop"]
			for n, ago := range map[int]time.Duration{1: 0, 2: 23 * time.Hour, 3: 25 * time.Hour, 4: 900 * time.Hour} {
				shop.Open(n, 1000*time.Hour, forgetest.Issue{})
				if ago > 0 {
					shop.Close(n, ago)
				}
			}
			shop.Propose(5, time.Hour, forgetest.Pull{Base: "main", Head: commit(1)})
			shop.Propose(6, time.Hour, forgetest.Pull{Base: "main", Head: commit(2)})
			shop.Close(6, 30*time.Hour)
			repos["blog"].Open(2, time.Hour, forgetest.Issue{}) // the number is used again in another project
			if before {
				w.must(t)
			}
			wants := map[int]time.Duration{1: 0, 2: 23 * time.Hour, 3: 25 * time.Hour, 4: 900 * time.Hour, 5: 0, 6: 30 * time.Hour}
			if kind == "gitlab" { // whose merge requests have other numbers
				delete(wants, 5)
				delete(wants, 6)
			}
			for range 2 {
				for n, want := range wants {
					closed, since := w.probe.Closed(t.Context(), "shop", n)
					if got, ok := closed.Get(); !ok || got != (want > 0) {
						t.Errorf("looked %v, #%d: closed %v, %q", before, n, got, closed.Why())
					}
					if got, ok := since.Get(); !ok || time.Duration(got).Round(time.Hour) != want {
						t.Errorf("looked %v, #%d: since %v, want %v", before, n, got, want)
					}
				}
			}
			if closed, _ := w.probe.Closed(t.Context(), "blog", 2); closed.Or(true) {
				t.Error("the other project's issue is closed")
			}
			if closed, _ := w.probe.Closed(t.Context(), "shop", 99); closed.IsKnown() || !strings.Contains(closed.Why(), "no such issue") {
				t.Errorf("no such issue: %v", closed)
			}
			if closed, _ := w.probe.Closed(t.Context(), "other", 1); closed.IsKnown() || !strings.Contains(closed.Why(), "no forge is configured for project other") || w.probe.Tracked("other") {
				t.Errorf("no such project: %v", closed)
			}
			// Reopened: the next look tells, and a new closing begins a new grace.
			w.must(t)
			shop.Reopen(4)
			w.must(t)
			if closed, since := w.probe.Closed(t.Context(), "shop", 4); closed.Or(true) || since.Or(1) != 0 {
				t.Errorf("reopened: %v", closed)
			}
			shop.Close(4, 0)
			w.must(t)
			if closed, since := w.probe.Closed(t.Context(), "shop", 4); !closed.Or(false) || time.Duration(since.Or(0)) > 2*time.Minute {
				t.Errorf("closed again: %v, %v", closed, since)
			}
		}
	})
}

// Whatever fails is unknown, at once and later, and is not asked for each file.
func TestClosedWhenTheForgeFails(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		for _, before := range []bool{false, true} {
			w, repos := newWorld(t, kind, "shop")
			for n := range 50 {
				repos["shop"].Open(n+1, 900*time.Hour, forgetest.Issue{})
				repos["shop"].Close(n+1, 800*time.Hour)
			}
			if before {
				w.must(t)
				w.probe.Closed(t.Context(), "shop", 1)
			}
			mend := w.Break(forgetest.Fault{Status: 500})
			if before {
				_, _ = w.look(t)
			}
			w.Forget()
			for n := range 50 {
				if closed, since := w.probe.Closed(t.Context(), "shop", n+1); closed.IsKnown() || since.IsKnown() {
					t.Fatalf("looked %v: #%d is known", before, n+1)
				}
			}
			if n := len(w.Requests()); n > 1 {
				t.Errorf("looked %v: %d requests of a forge that is down", before, n)
			}
			mend()
			w.must(t)
			w.must(t)
			if closed, _ := w.probe.Closed(t.Context(), "shop", 1); !closed.Or(false) {
				t.Errorf("mended: %v, %q", closed, closed.Why())
			}
		}
	})
}

// What was seen too long ago is not told as of now.
func TestClosedIsNotOld(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	repos["shop"].Open(1, 900*time.Hour, forgetest.Issue{})
	repos["shop"].Close(1, 800*time.Hour)
	w.must(t)
	if closed, _ := w.probe.Closed(t.Context(), "shop", 1); !closed.Or(false) {
		t.Fatal(closed.Why())
	}
	w.pass(10 * time.Minute)
	if closed, _ := w.probe.Closed(t.Context(), "shop", 1); closed.IsKnown() {
		t.Error("what was seen ten minutes ago is told as of now")
	}
}

func TestClosedEndsWithItsContext(t *testing.T) {
	w, _ := newWorld(t, "gitea", "shop")
	release := make(chan struct{})
	defer close(release)
	w.Break(forgetest.Fault{Wait: release})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if closed, _ := w.probe.Closed(ctx, "shop", 1); closed.IsKnown() {
		t.Error("it is known")
	}
}
