package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

// world is what a Reporter is told by, in the time of a synctest bubble.
type world struct {
	mu     sync.Mutex
	began  time.Time
	due    map[string]fleet.Message
	alerts map[string]fleet.Alert
	told   map[string][]byte
}

func newWorld() *world {
	return &world{began: time.Now(), due: map[string]fleet.Message{}, alerts: map[string]fleet.Alert{}, told: map[string][]byte{}}
}

func (w *world) now() fleet.Instant { return at(0).Add(time.Since(w.began)) }
func (w *world) Due(context.Context, fleet.Instant, int) ([]fleet.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.due)), nil
}
func (w *world) Sent(_ context.Context, id string, _ fleet.Instant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.due, id)
	return nil
}
func (w *world) Told(_ context.Context, to string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[to], nil
}
func (w *world) Keep(_ context.Context, to string, told []byte, _ fleet.Instant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[to] = told
	return nil
}
func (w *world) Past(context.Context, fleet.Instant) (p fleet.Past, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.Alerts = slices.Collect(maps.Values(w.alerts))
	return p, nil
}

// put makes an alert fire, or end, and drafts the news of it as a pass does.
func (w *world) put(a fleet.Alert, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.Status, a.Since, a.FiredAt = fleet.AlertFiring, w.now(), w.now()
	if old, is := w.alerts[a.String()]; is {
		a = old
	}
	before := pass(nil, nil)
	before.Snapshot.At = w.now()
	if !on {
		before.Past.Alerts = []fleet.Alert{a}
		a.Status, a.EndedAt = fleet.AlertResolved, w.now()
		delete(w.alerts, a.String())
	} else {
		w.alerts[a.String()] = a
	}
	before.Assessment.Alerts = []fleet.Alert{a}
	for _, m := range Draft(before, nil) {
		w.due[m.ID] = m
	}
}

// someone is a notifier that a test plays.
type someone struct {
	name string
	do   func(context.Context, fleet.Message) error

	mu  sync.Mutex
	got []fleet.Message
}

func (s *someone) Name() string { return s.name }
func (s *someone) Notify(ctx context.Context, m fleet.Message) error {
	if s.do != nil {
		if err := s.do(ctx, m); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, m)
	return nil
}
func (s *someone) heard() []fleet.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (w *world) reporter(routes []Route, all ...Notifier) *Reporter {
	return New(Options{Notifiers: all, Routes: routes, Outbox: w, Memory: w, History: w, Now: w.now, Host: "h"})
}

// run runs a Reporter for as long as play takes, in a bubble.
func run(t *testing.T, r *Reporter, play func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx, func(error) {}) }()
	play()
	cancel()
	<-ended
}

// One receiver that fails, never answers or panics is tried again or given up; it
// holds up nobody.
func TestDeadReceiverSlowsNobody(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(context.Context, fleet.Message) error
		again bool
	}{
		"fails":      {func(context.Context, fleet.Message) error { return errors.New("down") }, true},
		"never":      {func(context.Context, fleet.Message) error { return ErrPermanent }, false},
		"panics":     {func(context.Context, fleet.Message) error { panic("x") }, false},
		"hangs":      {func(ctx context.Context, _ fleet.Message) error { <-ctx.Done(); return ctx.Err() }, true},
		"hangs hard": {func(context.Context, fleet.Message) error { time.Sleep(30 * time.Minute); return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tries atomic.Int32
				dead := &someone{name: "dead", do: func(ctx context.Context, m fleet.Message) error { tries.Add(1); return c.do(ctx, m) }}
				w, phone := newWorld(), &someone{name: "phone"}
				routes := one("r")
				routes[0].To = []string{"dead", "phone"}
				run(t, w.reporter(routes, dead, phone), func() {
					w.put(alert("a", fleet.P1, ""), true)
					time.Sleep(36 * time.Second)
					if got := phone.heard(); len(got) != 1 {
						t.Errorf("half a minute later the other was told %+v", got)
					}
					time.Sleep(10 * time.Minute)
				})
				if n := tries.Load(); (n > 1) != c.again {
					t.Errorf("it was tried %d times", n)
				}
				time.Sleep(time.Hour) // lets the hung one end
			})
		})
	}
}

// A thousand findings that come and go for an hour, each every few minutes, are
// fewer than ten messages; and then each receiver knows what is true.
func TestFlappingThousand(t *testing.T) {
	for _, p := range []fleet.Priority{fleet.P0, fleet.P2} {
		t.Run(string(p), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, phone := newWorld(), &someone{name: "phone"}
				dice := rand.New(rand.NewPCG(1, 2))
				r := New(Options{Notifiers: []Notifier{phone}, Routes: one("r"), Outbox: w, Memory: w, History: w, Now: w.now, Every: 20 * time.Second})
				run(t, r, func() {
					for range 30 {
						for i := range 1000 {
							a := alert(fmt.Sprintf("rule-%d", i), p, "")
							if dice.IntN(2) == 0 {
								w.put(a, w.alerts[a.String()].Rule == "")
							}
						}
						time.Sleep(2 * time.Minute)
					}
					if n := len(phone.heard()); n == 0 || n >= 10 {
						t.Errorf("%d messages in the hour", n)
					} else {
						t.Logf("%d messages in the hour", n)
					}
					time.Sleep(2 * time.Hour)
				})
				agree(t, w, "phone")
				if n := len(w.due); n > 1000 {
					t.Errorf("%d messages are left in the outbox", n)
				}
			})
		})
	}
}

// agree holds what a receiver knows against what is true.
func agree(t *testing.T, w *world, to string) {
	t.Helper()
	p := &post{to: to}
	if err := New(Options{Memory: w}).recall(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	believed := map[string]bool{}
	for k, word := range p.told.Alerts {
		if word.Over.IsZero() {
			believed[k] = true
		}
	}
	for k := range w.alerts {
		if !believed[k] {
			t.Errorf("%s fires, and %s does not know", k, to)
		}
		delete(believed, k)
	}
	for k := range believed {
		t.Errorf("%s is over, and %s does not know", k, to)
	}
}

// What nobody takes up is told again after an hour, then every half hour, counts
// as P0 from the fourth hour on and comes more often; until somebody takes it up.
func TestUnacknowledgedGetsLouder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, phone := newWorld(), &someone{name: "phone"}
		a := alert("a", fleet.P1, "")
		run(t, w.reporter(one("r"), phone), func() {
			w.put(a, true)
			time.Sleep(5*time.Hour + time.Second)
			var got []string
			for _, m := range phone.heard() {
				got = append(got, fmt.Sprintf("%s %s", m.At.Wall.Format("15:04"), m.Priority))
			}
			want := "09:00 P1, 10:00 P1, 10:30 P1, 11:00 P1, 11:30 P1, 12:00 P1, 12:30 P1, 13:00 P0, 13:10 P0, 13:20 P0, 13:30 P0, 13:40 P0, 13:50 P0, 14:00 P0"
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("told at\n%s\nwant\n%s", s, want)
			}
			n := len(got)
			w.mu.Lock()
			a := w.alerts[a.String()]
			a.AckedBy, a.AckedAt = "me", w.now()
			w.alerts[a.String()] = a
			w.mu.Unlock()
			time.Sleep(24 * time.Hour)
			if len(phone.heard()) != n {
				t.Error("it was taken up, and told again")
			}
			w.put(a, false)
			time.Sleep(time.Hour)
			if all := phone.heard(); len(all) != n+1 || !all[n].AllClear {
				t.Errorf("at the end it was told %+v", all[n:])
			}
		})
	})
}

// A receiver that is down for a day is told everything in one message when it is
// back: what still holds, and what came and went.
func TestDownForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		var tries atomic.Int32
		phone := &someone{name: "phone", do: func(context.Context, fleet.Message) error {
			tries.Add(1)
			if !back.Load() {
				return errors.New("connection refused")
			}
			return nil
		}}
		w := newWorld()
		run(t, w.reporter(one("r"), phone), func() {
			for hour := range 24 {
				w.put(alert(fmt.Sprintf("gone-%d", hour), fleet.P2, ""), true)
				w.put(alert(fmt.Sprintf("open-%d", hour), fleet.P2, ""), true)
				time.Sleep(time.Hour)
				w.put(alert(fmt.Sprintf("gone-%d", hour), fleet.P2, ""), false)
			}
			back.Store(true)
			time.Sleep(20 * time.Minute)
		})
		got := phone.heard()
		if len(got) != 1 {
			t.Fatalf("told %d messages: %+v", len(got), got)
		}
		if want := "custos on h: 24 new, 24 came and went, 24 open"; got[0].Subject != want || !strings.Contains(got[0].Body, "Came and went, untold:\n- [P2] gone-") {
			t.Errorf("told %q, want %q\n%s", got[0].Subject, want, got[0].Body)
		}
		if n := tries.Load(); n > 400 {
			t.Errorf("it was tried %d times", n)
		}
		agree(t, w, "phone")
	})
}

// A Custos that ends while it tells something tells it again, as it was: the
// receiver, which knows the ID, takes it but once.
func TestRestartTellsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var first string
		hung := &someone{name: "phone", do: func(ctx context.Context, m fleet.Message) error {
			first = m.ID
			if kept, _ := w.Told(ctx, "phone"); !strings.Contains(string(kept), m.ID) {
				t.Error("it is sent before it is written down: a crash now would tell it twice")
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		run(t, w.reporter(one("r"), hung), func() {
			w.put(alert("a", fleet.P1, ""), true)
			time.Sleep(32 * time.Second)
		})
		phone := &someone{name: "phone"}
		run(t, w.reporter(one("r"), phone), func() { time.Sleep(time.Minute) })
		run(t, w.reporter(one("r"), phone), func() { time.Sleep(20 * time.Minute) })
		if got := phone.heard(); len(got) != 1 || got[0].ID != first || first == "" {
			t.Errorf("%s was begun, and %+v told", first, got)
		}
	})
}

// A command that ends tells at once, and everybody.
func TestDeliverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, phone, room := newWorld(), &someone{name: "phone"}, &someone{name: "room", do: func(context.Context, fleet.Message) error { return errors.New("no such room") }}
		w.put(alert("a", fleet.P1, ""), true)
		err := w.reporter(nil, phone, room).Deliver(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no such room") || len(phone.heard()) != 1 {
			t.Errorf("told %+v, %v", phone.heard(), err)
		}
	})
}

// Without a history, messages are taken at their word.
func TestDeliverWithoutHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, phone := newWorld(), &someone{name: "phone"}
		w.put(alert("a", fleet.P1, ""), true)
		r := New(Options{Notifiers: []Notifier{phone}, Outbox: w, Now: w.now})
		for range 2 {
			if err := r.Deliver(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := phone.heard(); len(got) != 1 || got[0].Subject != "custos: [P1] a: it is so" || len(w.due) != 0 {
			t.Errorf("told %+v; left %v", got, w.due)
		}
	})
}

type pulse struct{ atomic.Int32 }

func (p *pulse) Beat(context.Context) error { p.Add(1); return nil }

// The dead man's switch hears of nothing but passes that succeeded, at most once a
// minute.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), &pulse{}
		r := New(Options{Notifiers: []Notifier{&someone{name: "phone"}}, Outbox: w, Now: w.now, Pulses: []Pulse{p}})
		run(t, r, func() {
			time.Sleep(10 * time.Minute)
			if n := p.Load(); n != 0 {
				t.Errorf("%d beats without a pass", n)
			}
			for range 59 {
				r.Passed()
				time.Sleep(10 * time.Second)
			}
			r.Passed()
			time.Sleep(5 * time.Second) // not on the stroke of the next one
			if n := p.Load(); n != 10 {
				t.Errorf("%d beats in ten minutes of passes", n)
			}
			time.Sleep(time.Hour)
			if n := p.Load(); n > 11 {
				t.Errorf("%d beats though no pass succeeds", n)
			}
		})
	})
}
