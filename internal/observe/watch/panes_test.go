package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/agent"
	"custos/internal/observe/watch"
	"custos/internal/session"
)

// crier announces what it is handed.
type crier struct {
	news chan session.Notice
	err  error
}

func (c *crier) Announce(ctx context.Context, tell func(session.Notice)) error {
	for {
		select {
		case <-ctx.Done():
			return c.err
		case n := <-c.news:
			tell(n)
		}
	}
}

func words(what string) session.Notice { return session.Notice{What: what} }

func shows(title string) session.Notice {
	return session.Notice{Panes: []session.Glimpse{{Pane: "%1", Title: title}}}
}

// panes runs a test in a bubble, in which time passes when nothing else can.
func panes(t *testing.T, do func(t *testing.T, c *crier, told func() []string)) {
	t.Helper()
	kinds, err := agent.Parse(agent.Source{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &crier{news: make(chan session.Notice), err: errors.New("over")}
		var told []string
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- watch.Panes(ctx, c, kinds, func(why string) { told = append(told, why) }) }()
		do(t, c, func() []string {
			synctest.Wait()
			out := told
			told = nil
			return out
		})
		cancel()
		if err := <-ended; err != c.err {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestPanesTellsAtOnce(t *testing.T) {
	panes(t, func(t *testing.T, c *crier, told func() []string) {
		c.news <- words("one")
		if got := told(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("told %q", got)
		}
	})
}

func TestAFloodOfNoticesIsFewChanges(t *testing.T) {
	panes(t, func(t *testing.T, c *crier, told func() []string) {
		for i := range 1000 { // in two seconds
			c.news <- words(fmt.Sprint(i))
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if got := told(); len(got) < 9 || len(got) > 12 || got[0] != "0" {
			t.Errorf("%d changes of 1000 notices in two seconds: %q", len(got), got)
		}
		c.news <- words("first")
		c.news <- words("second")
		time.Sleep(time.Second)
		if got := told(); !slices.Equal(got, []string{"first", "second"}) {
			t.Errorf("told %q: the last one was lost", got)
		}
	})
}

func TestSpinnersDoNotWake(t *testing.T) {
	panes(t, func(t *testing.T, c *crier, told func() []string) {
		c.news <- shows("⠋ Fix it")
		told()
		for _, r := range "⠙⠹⠸⠼⠴⠦⠧⠇⠏⠋" {
			c.news <- shows(string(r) + " Fix it")
			time.Sleep(time.Second)
		}
		if got := told(); len(got) != 0 {
			t.Errorf("a spinner told %q", got)
		}
		c.news <- shows("[ . ] Action Required | x")
		if got := told(); !slices.Equal(got, []string{"pane %1 now shows codex waiting"}) {
			t.Errorf("told %q", got)
		}
	})
}

func TestPanesNeedsAnAnnouncer(t *testing.T) {
	if err := watch.Panes(t.Context(), nil, nil, nil); err == nil {
		t.Error("no announcer, no error")
	}
}
