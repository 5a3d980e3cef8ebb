package beadwrite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/beads"
	"custos/internal/sys/beadstest"
)

// place is a tracker with one bead, and what may be written to it.
type place struct {
	bd beadstest.Fake
	o  Options
}

func newPlace(t *testing.T) *place {
	t.Helper()
	bd, err := beadstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, dir string, argv []string) ([]byte, error) {
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Dir = dir
		return c.Output()
	}
	hand, err := beads.NewWriter(beads.Options{Command: bd.Command(), Dir: t.TempDir(), Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return &place{bd, Options{Trackers: map[string][]Writer{"shop": {hand}}}}
}

// shows has bd show the bead so, now or after a deed.
func (p *place) shows(t *testing.T, when, id, status, assignee string) {
	t.Helper()
	if err := p.bd.Say(when, fmt.Sprintf(`[{"id":%q,"title":"x","status":%q,"assignee":%q}]`, id, status, assignee)); err != nil {
		t.Fatal(err)
	}
}

// begins puts the bead where an action on it starts from.
func (p *place) begins(t *testing.T, do string) fleet.Action {
	t.Helper()
	was, then, state := "in_progress", "closed", fleet.WorkTaken
	if do == Reopen {
		was, then, state = "closed", "open", fleet.WorkClosed
	}
	p.shows(t, "show", "hq-a1", was, "dev")
	p.shows(t, "after-"+New(do, p.o).verb(), "hq-a1", then, "dev")
	b := fleet.Bead{ID: "hq-a1", Project: "shop", State: state, Assignee: "dev"}
	s := fleet.Subject{Kind: fleet.KindWork, Name: "bd:hq-a1"}
	return fleet.Action{ID: "1", Do: do, Subject: s, Target: fleet.Target{Bead: &b}, For: fleet.AlertKey{Rule: "asked", Subject: s}, Text: "--force is no option\nof it"}
}

// written lists what bd was asked beside to show.
func (p *place) written() []string {
	return slices.DeleteFunc(p.bd.Calls(), func(c string) bool { return strings.HasPrefix(c, "show ") })
}

func TestConformance(t *testing.T) {
	for _, do := range Names() {
		t.Run(do, func(t *testing.T) {
			p := newPlace(t)
			wanted := "closed"
			if do == Reopen {
				wanted = "open"
			}
			acttest.Test(t, acttest.Case{
				Action: New(do, p.o),
				Setup:  func(t *testing.T) fleet.Action { return p.begins(t, do) },
				Fingerprint: func(t *testing.T, _ fleet.Action) string {
					return acttest.Tree(t, filepath.Join(p.bd.Dir, "show.json")) + strings.Join(p.written(), "\n")
				},
				Gone: func(t *testing.T, _ fleet.Action) { p.shows(t, "show", "hq-a1", wanted, "dev") },
				Changed: map[string]func(*testing.T, fleet.Action){
					"taken up":      func(t *testing.T, _ fleet.Action) { p.shows(t, "show", "hq-a1", statusOf(do), "ann") },
					"other project": func(_ *testing.T, a fleet.Action) { a.Target.Bead.Project = "bank" },
					"seen so":       func(_ *testing.T, a fleet.Action) { a.Target.Bead.State = opposite(a.Target.Bead.State) },
				},
			})
			if got := p.written(); len(got) == 0 || got[0] != New(do, p.o).verb()+" hq-a1 --reason=--force is no option of it" {
				t.Errorf("bd was asked %q", got)
			}
		})
	}
}

// statusOf is bd's word for where a deed starts from.
func statusOf(do string) string {
	if do == Reopen {
		return "closed"
	}
	return "hooked"
}

func opposite(s fleet.WorkState) fleet.WorkState {
	if s == fleet.WorkClosed {
		return fleet.WorkOpen
	}
	return fleet.WorkClosed
}

// bd ends well when it refuses: that is no success.
func TestRefusedByBd(t *testing.T) {
	p := newPlace(t)
	a := p.begins(t, Close)
	if err := os.WriteFile(filepath.Join(p.bd.Dir, "close-refused"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := New(Close, p.o).Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if effect, err := run.Verify(t.Context()); err == nil {
		t.Errorf("verified: %s", effect)
	}
}

// What is not told for certain is not written to.
func TestWhatCannotBeDone(t *testing.T) {
	p := newPlace(t)
	a := p.begins(t, Close)
	p.shows(t, "show", "hq-a11", "open", "dev") // bd took the name for a part of another
	if _, err := New(Close, p.o).Prepare(t.Context(), a); err == nil {
		t.Error("another bead was shown")
	}
	a = p.begins(t, Close)
	twice := Options{Trackers: map[string][]Writer{"shop": {p.o.Trackers["shop"][0], p.o.Trackers["shop"][0]}}}
	if _, err := New(Close, twice).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("two trackers of one name: %v", err)
	}
	a.Target.Bead.ID = "--db=/x"
	if _, err := New(Close, p.o).Prepare(t.Context(), a); err == nil {
		t.Error("an ID like an option")
	}
	if err := p.bd.Break("exit 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Close, p.o).Prepare(t.Context(), p.begins(t, Close)); err == nil || errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a bd that fails: %v", err)
	}
	if got := p.written(); len(got) != 0 {
		t.Errorf("bd was asked %q", got)
	}
	if able := New(Close, Options{}).Ability(); able.Cannot == "" || able.Needs == "" {
		t.Errorf("%+v", able)
	}
}
