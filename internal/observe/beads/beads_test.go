package beads

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/beadstest"
)

var now = fleet.Instant{Wall: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(1000 * time.Hour), Boot: "b"}

func look(t *testing.T, o Options) ([]fleet.Bead, error) {
	t.Helper()
	o.Now = func() fleet.Instant { return now }
	o.Getenv = os.Getenv
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	var s fleet.Snapshot
	if put != nil {
		put(&s)
	}
	return s.Beads.Value, err
}

func newFake(t *testing.T, list, closed string) beadstest.Fake {
	t.Helper()
	fake, err := beadstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fake.Say("list", list), fake.Say("closed", closed)); err != nil {
		t.Fatal(err)
	}
	return fake
}

func TestLook(t *testing.T) {
	fake := newFake(t, `[
		{"id":"hq-1","title":"a\u001b[31mb","status":"open","priority":0,"assignee":"","updated_at":"2026-07-01T11:00:00Z","dependencies":[{"depends_on_id":"hq-2","type":"blocks"}]},
		{"id":"hq-2","title":"x","status":"in_progress","priority":9,"assignee":"nux"},
		{"id":"hq-3","title":"x","status":"blocked"},
		{"id":"hq-4","title":"x","status":"deferred"},
		{"id":"hq-5","title":"x","status":"done-ish"},
		{"id":"a b","title":"nobody can name it","status":"open"}]`,
		`[{"id":"hq-6","title":"x","status":"closed","close_reason":"wontfix","closed_at":"2026-06-30T12:00:00Z"},{"id":"hq-1","title":"twice","status":"closed"}]`)
	list, err := look(t, Options{Dirs: []string{t.TempDir()}, Command: fake.Command()})
	if err != nil || len(list) != 6 {
		t.Fatalf("%+v, %v", list, err)
	}
	first, last := list[0], list[5]
	if first.Title != "ab" || first.Priority != fleet.P0 || len(first.Needs) != 1 || first.Updated.Or(fleet.Instant{}) != now.Add(-time.Hour) || first.Closed.IsKnown() {
		t.Errorf("got %+v", first)
	}
	if last.State != fleet.WorkClosed || last.Outcome != "wontfix" || last.Closed.Or(fleet.Instant{}) != now.Add(-24*time.Hour) {
		t.Errorf("got %+v", last)
	}
	for i, want := range []fleet.Bead{{State: "open"}, {State: "in progress", Assignee: "nux"}, {State: "open", Blocked: true}, {State: "open", Waits: `its state is "deferred"`}, {State: "open", Waits: `its state is "done-ish"`}} {
		if b := list[i]; b.State != want.State || b.Blocked != want.Blocked || b.Waits != want.Waits || b.Assignee != want.Assignee {
			t.Errorf("got %+v, want %+v", b, want)
		}
	}
}

// TestLookingTouchesNothing: what bd shows is the last touched, and a bare "bd close" of a
// person closes that: a look leaves it as it was.
func TestLookingTouchesNothing(t *testing.T) {
	fake := newFake(t, `[{"id":"hq-1","status":"open","dependency_count":1}]`, `[]`)
	if err := fake.Say("show", `[{"id":"hq-1","status":"open","dependencies":[{"id":"hq-2","dependency_type":"blocks"}]}]`); err != nil {
		t.Fatal(err)
	}
	list, err := look(t, Options{Dirs: []string{t.TempDir()}, Command: fake.Command()})
	if err != nil || len(list) != 1 || len(list[0].Needs) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if touched := fake.Touched(); touched != "" {
		t.Errorf("a look has left %q as what was touched last", touched)
	}
}

// Nothing configured is absent. What is configured and cannot be read is not: its
// work is not closed for that.
func TestBlind(t *testing.T) {
	if _, err := look(t, Options{}); !errors.Is(err, observe.ErrAbsent) {
		t.Error(err)
	}
	good := newFake(t, `[{"id":"hq-1","status":"open"}]`, `[]`)
	for name, command := range map[string]string{"not installed": "bd-that-is-not-there", "fails": "/bin/false", "prints words": "/bin/echo"} {
		if list, err := look(t, Options{Dirs: []string{t.TempDir()}, Command: command}); err == nil || errors.Is(err, observe.ErrAbsent) || list != nil {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	list, err := look(t, Options{Dirs: []string{t.TempDir(), t.TempDir() + "/gone"}, Command: good.Command()})
	if err == nil || len(list) != 1 {
		t.Errorf("one of two: %v, %v", list, err)
	}
}

// A bd that hangs, with a child of its own, ends with the look.
func TestHang(t *testing.T) {
	fake := newFake(t, `[]`, `[]`)
	if err := fake.Break("sleep 1000 & wait"); err != nil {
		t.Fatal(err)
	}
	p, err := New(Options{Dirs: []string{t.TempDir()}, Command: fake.Command(), Now: func() fleet.Instant { return now }, Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := p.Look(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestTooMuch(t *testing.T) {
	fake := newFake(t, `[]`, `[]`)
	if err := fake.Break("head -c 20000000 /dev/zero; exit 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := look(t, Options{Dirs: []string{t.TempDir()}, Command: fake.Command()}); err == nil || !strings.Contains(err.Error(), "it printed more than") {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	for name, o := range map[string]Options{
		"no clock":       {},
		"too often":      {Every: "1s", Now: func() fleet.Instant { return now }},
		"no duration":    {Every: "often", Now: func() fleet.Instant { return now }},
		"a path of ours": {Dirs: []string{"shop"}, Now: func() fleet.Instant { return now }},
	} {
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
