package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

// glass is a mirror that a test plays.
type glass struct {
	do func(context.Context) error

	mu    sync.Mutex
	shown []string
}

func (g *glass) Name() string         { return "glass" }
func (g *glass) Every() time.Duration { return time.Minute }
func (g *glass) Show(ctx context.Context, _ fleet.Instant, alerts []fleet.Alert) error {
	var all []string
	for _, a := range alerts {
		all = append(all, fmt.Sprintf("%s:%s", a.Rule, a.Status))
	}
	g.mu.Lock()
	g.shown = append(g.shown, strings.Join(all, " "))
	g.mu.Unlock()
	if g.do != nil {
		return g.do(ctx)
	}
	return nil
}

func (g *glass) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, g.shown...)
}

// blindable is a world whose ledger may not be readable.
type blindable struct {
	*world
	mu   sync.Mutex
	past func(fleet.Past) (fleet.Past, error)
}

func (b *blindable) set(f func(fleet.Past) (fleet.Past, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past = f
}

func (b *blindable) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	p, _ := b.world.Past(ctx, at)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.past != nil {
		return b.past(p)
	}
	return p, nil
}

// A mirror is shown what is true within seconds of a change, and once a minute
// without one; what ended is shown as ended; and what cannot be read has not ended.
func TestMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := &blindable{world: newWorld()}, &glass{}
		r := New(Options{Mirrors: []Mirror{g}, Outbox: w, Memory: w, History: w, Now: w.now})
		last := func() string { s := g.seen(); return s[len(s)-1] }
		run(t, r, func() {
			time.Sleep(10*time.Minute + time.Second)
			if n := len(g.seen()); n != 11 {
				t.Errorf("in ten minutes without anything it was shown that %d times", n)
			}
			w.put(alert("a", fleet.P3, ""), true)
			time.Sleep(6 * time.Second)
			if last() != "a:firing" {
				t.Errorf("shown %q", last())
			}
			for _, f := range []func(fleet.Past) (fleet.Past, error){
				func(fleet.Past) (fleet.Past, error) { return fleet.Past{Blind: "locked"}, nil },
				func(p fleet.Past) (fleet.Past, error) {
					var aside []int64
					for _, a := range p.Alerts {
						aside = append(aside, a.Number)
					}
					return fleet.Past{Aside: aside}, nil
				},
				func(fleet.Past) (fleet.Past, error) { return fleet.Past{Amnesia: true}, nil },
			} {
				w.set(f)
				time.Sleep(2 * time.Minute)
				if last() != "a:firing" {
					t.Errorf("while nothing can be read it is shown %q", last())
				}
			}
			w.set(func(fleet.Past) (fleet.Past, error) {
				over := alert("a", fleet.P3, fleet.AlertResolved)
				over.EndedAt = at(14)
				return fleet.Past{Alerts: []fleet.Alert{over}}, nil
			})
			time.Sleep(6 * time.Second)
			if last() != "a:resolved" {
				t.Errorf("at its end it is shown %q", last())
			}
			time.Sleep(time.Hour)
			if last() != "" {
				t.Errorf("an hour after its end it is shown %q", last())
			}
		})
	})
}

// A mirror that fails, hangs or panics is shown again in its own time, and holds
// up nobody.
func TestBrokenMirror(t *testing.T) {
	for name, do := range map[string]func(context.Context) error{
		"fails":  func(context.Context) error { return errors.New("down") },
		"hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"panics": func(context.Context) error { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, g, phone := newWorld(), &glass{do: do}, &someone{name: "phone"}
				r := New(Options{Notifiers: []Notifier{phone}, Mirrors: []Mirror{g}, Routes: one("r"), Outbox: w, Memory: w, History: w, Now: w.now})
				run(t, r, func() {
					w.put(alert("a", fleet.P1, ""), true)
					time.Sleep(40 * time.Second)
					if len(phone.heard()) != 1 {
						t.Error("the phone was not told")
					}
					time.Sleep(10 * time.Minute)
				})
				if n := len(g.seen()); n < 9 || n > 12 {
					t.Errorf("it was shown that %d times in eleven minutes", n)
				}
			})
		})
	}
}

// A command that takes one pass shows mirrors what it found; one that takes none
// has nothing to show.
func TestMirrorIsShownByOneCommand(t *testing.T) {
	for name, c := range map[string]struct {
		passed bool
		want   []string
	}{"a patrol": {true, []string{"a:firing"}}, "an acknowledgement": {false, nil}} {
		t.Run(name, func(t *testing.T) {
			w, g := newWorld(), &glass{}
			w.put(alert("a", fleet.P1, fleet.AlertFiring), true)
			r := New(Options{Mirrors: []Mirror{g}, Outbox: w, Memory: w, History: w, Now: w.now})
			if c.passed {
				r.Passed()
			}
			if err := r.Deliver(t.Context()); err != nil || !slices.Equal(g.seen(), c.want) {
				t.Errorf("shown %q, %v; want %q", g.seen(), err, c.want)
			}
		})
	}
}
