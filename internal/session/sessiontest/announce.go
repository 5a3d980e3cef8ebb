package sessiontest

import (
	"context"
	"testing"
	"time"

	"custos/internal/session"
)

// testAnnounced: whoever listens hears of every launch, close and loss, from
// before there is anything to listen to, and can stop at any time.
func testAnnounced(t *testing.T, g Ground) {
	a, ok := g.Provider.(session.Announcer)
	if !ok {
		t.Skip("this provider announces nothing")
	}
	news := make(chan string, 10_000)
	stop := announce(t, a, news)
	first := g.Launch(t, g.Plan(t, "one", "sleep", "1000"))
	heard(t, news, "the first launch")
	second := g.Launch(t, g.Plan(t, "two", "sleep", "1000"))
	heard(t, news, "the second launch")
	if err := g.Provider.Close(t.Context(), second.Pane); err != nil {
		t.Fatal(err)
	}
	heard(t, news, "a close")
	if p := Panes(t, g.Provider, 1)[0]; p.ID != first.Pane || p.Attached != 0 {
		t.Errorf("whoever listens is seen: %+v", p)
	}
	if g.Kill != nil {
		g.Kill(t)
		heard(t, news, "the end of what stands between")
		g.Launch(t, g.Plan(t, "three", "sleep", "1000"))
		heard(t, news, "its new beginning")
	}
	if g.Stop != nil {
		thaw := g.Stop(t)
		heard(t, news, "its freezing")
		defer thaw()
	}
	stop()
}

// announce listens until stop is called, which fails when that does not end it.
func announce(t *testing.T, a session.Announcer, news chan<- string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() {
		ended <- a.Announce(ctx, func(n session.Notice) {
			if n.What != "" {
				news <- n.What
			}
		})
	}()
	return func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("announcing ended with %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("announcing does not end")
		}
	}
}

// heard waits for news, and for a moment without any.
func heard(t *testing.T, news <-chan string, of string) {
	t.Helper()
	select {
	case <-news:
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing was announced of %s", of)
	}
	for {
		select {
		case <-news:
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}
