// Package sessiontest holds the suite that every session.Viewer passes, a fake
// viewer for the tests of others, and a private tmux server for tests that need
// the real thing.
package sessiontest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
)

// Stage is how the suite makes the world that a viewer looks at.
type Stage interface {
	// Open starts a session that prints text (escapes and all) and then waits.
	Open(t *testing.T, name, text string)
	// Close ends a session and what runs in it.
	Close(t *testing.T, name string)
}

// Test runs the suite. open returns a viewer and the stage it looks at, which
// is empty.
func Test(t *testing.T, open func(t *testing.T) (session.Viewer, Stage)) {
	t.Run("nothing there is absent", func(t *testing.T) {
		v, _ := open(t)
		if panes, err := v.Panes(t.Context()); !errors.Is(err, session.ErrAbsent) || len(panes) != 0 {
			t.Errorf("Panes = %d panes, %v; want none and ErrAbsent", len(panes), err)
		}
	})
	t.Run("panes have identities", func(t *testing.T) { testIdentity(t, open) })
	t.Run("screens are plain and bounded", func(t *testing.T) { testScreen(t, open) })
	t.Run("a pane that is gone has no screen", func(t *testing.T) { testGone(t, open) })
	t.Run("a cancelled look ends", func(t *testing.T) {
		v, stage := open(t)
		stage.Open(t, "one", "hello")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := v.Panes(ctx); err == nil {
			t.Error("Panes with a cancelled context gave no error")
		}
	})
}

func testIdentity(t *testing.T, open func(t *testing.T) (session.Viewer, Stage)) {
	v, stage := open(t)
	stage.Open(t, "one", "hello")
	stage.Open(t, "two", "hello")
	panes := Panes(t, v, 2)
	seen := map[fleet.PaneID]bool{}
	for i, p := range panes {
		if p.ID.Socket == "" || p.ID.Pane == "" || p.ID.Server.PID == 0 || p.ID.Server.Start == 0 || p.ID.Root.PID == 0 || p.ID.Root.Start == 0 {
			t.Errorf("pane %s has no whole identity: %+v", p.Name(), p.ID)
		}
		if want := []string{"one", "two"}[i]; p.Session != want {
			t.Errorf("pane %d is of session %q, want %q", i, p.Session, want)
		}
		if p.Attached != 0 || p.Dead {
			t.Errorf("pane %s: attached %d, dead %v; want neither", p.Name(), p.Attached, p.Dead)
		}
		seen[p.ID] = true
	}
	if len(seen) != 2 {
		t.Errorf("two panes share an identity: %v", panes)
	}
	again := Panes(t, v, 2)
	for _, p := range again {
		if !seen[p.ID] {
			t.Errorf("pane %s has another identity the second time", p.Name())
		}
	}
}

func testScreen(t *testing.T, open func(t *testing.T) (session.Viewer, Stage)) {
	v, stage := open(t)
	stage.Open(t, "one", "first\nsecond\n\x1b[31mthird\x1b[0m\n")
	id := Panes(t, v, 1)[0].ID
	text := Await(t, func() (string, bool) {
		s, err := v.Screen(t.Context(), id, 2)
		return s, err == nil && strings.Contains(s, "third")
	})
	if text != "second\nthird" {
		t.Errorf("the last two lines are %q", text)
	}
}

func testGone(t *testing.T, open func(t *testing.T) (session.Viewer, Stage)) {
	v, stage := open(t)
	stage.Open(t, "keep", "hello")
	stage.Open(t, "one", "hello")
	id := Panes(t, v, 2)[1].ID
	stage.Close(t, "one")
	stage.Open(t, "one", "another")
	if _, err := v.Screen(t.Context(), id, 5); !errors.Is(err, session.ErrGone) {
		t.Errorf("screen of a closed pane: %v, want ErrGone", err)
	}
	reused := Panes(t, v, 2)[1].ID
	reused.Root.Start++
	if _, err := v.Screen(t.Context(), reused, 5); !errors.Is(err, session.ErrGone) {
		t.Errorf("screen of a pane whose program was replaced: %v, want ErrGone", err)
	}
	reused.Root.Start--
	reused.Server.Start++
	if _, err := v.Screen(t.Context(), reused, 5); !errors.Is(err, session.ErrGone) {
		t.Errorf("screen of a pane of another server: %v, want ErrGone", err)
	}
}

// Panes waits until a viewer shows n live panes and returns them.
func Panes(t *testing.T, v session.Viewer, n int) []fleet.Pane {
	t.Helper()
	return Await(t, func() ([]fleet.Pane, bool) {
		panes, err := v.Panes(t.Context())
		return panes, err == nil && len(panes) == n
	})
}

// Await asks until the answer is good, for at most 20 seconds.
func Await[T any](t *testing.T, ask func() (T, bool)) T {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		got, ok := ask()
		if ok {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s in vain; last answer: %+v", got)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
