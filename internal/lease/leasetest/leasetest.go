// Package leasetest is what every store of leases must do, as a test: lease.Store in words that can
// be red. It takes real time: the leases of the stores that it is given are to last a second or two.
package leasetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// Open opens a store for a holder, at one place that all stores of a test share. Its leases last
// ttl; clock is that of the holder's host. What it opens, it closes when t ends.
type Open func(t testing.TB, h lease.Holder, clock func() fleet.Instant, ttl time.Duration) lease.Store

// Options say what is to be known of the stores.
type Options struct {
	TTL time.Duration // for which a lease lasts whose end is waited for; needed
	// Late is how long after its time a lease may end; default 2 s.
	Late time.Duration
	// Corrupt makes what is kept of a key that is held unreadable, and leaves it there.
	Corrupt func(t testing.TB, key string)
	// OwnClocks says that hosts may have clocks of their own, which know nothing of each other.
	OwnClocks bool
	// For is how long the histories are played, and up to five times that where little happens; default 3 s.
	For time.Duration
	// AtOnce is how many tests are done side by side; default 8. They wait more than they work, so that
	// -parallel is no measure for them, but for those that wait for each other.
	AtOnce int
	// Only names the tests that are done; none: all of them, and the histories.
	Only []string
	// During is done while the histories are played; it has to end when ctx does. nil: nothing.
	During func(ctx context.Context, t testing.TB)
	// Lived is how often a lease has to be relied on, at least, for histories to tell something; default 20.
	Lived int
}

// long is how long a lease lasts whose end nobody waits for: longer than a machine that is busy needs.
const long = time.Minute

// Run does all tests, some of them side by side, each with keys of its own, and tries those again that
// had no quiet moment; then the histories, which leave no moment quiet.
func Run(t *testing.T, open Open, o Options) {
	p := newPlace(open, o)
	patient := newPlace(open, o)
	patient.o.TTL = long
	var all sync.WaitGroup
	may := make(chan struct{}, p.o.AtOnce)
	begin := func(p *place, named map[string]func(*Attempt, *place)) {
		for name, test := range named {
			if len(o.Only) > 0 && !slices.Contains(o.Only, name) {
				continue
			}
			all.Go(func() {
				may <- struct{}{}
				defer func() { <-may }()
				t.Run(name, func(t *testing.T) { Try(t, p.quiet(), func(a *Attempt) { test(a, p) }) })
			})
		}
	}
	begin(p, waiting())
	begin(patient, tests())
	all.Wait()
	if len(o.Only) == 0 {
		t.Run("histories", func(t *testing.T) { Histories(t, open, o) })
	}
}

// waiting are those that wait for the end of a lease.
func waiting() map[string]func(*Attempt, *place) {
	return map[string]func(*Attempt, *place){
		"lives while renewed": livesWhileRenewed, "ends": ends, "ends unseen": endsUnseen, "floor of what ended": floorOfWhatEnded,
		"told of its end": toldOfItsEnd, "told of some": toldOfSome, "told from the start": toldFromTheStart,
	}
}

// tests are the others.
func tests() map[string]func(*Attempt, *place) {
	return map[string]func(*Attempt, *place){
		"one of many": oneOfMany, "held": held, "held by oneself": heldByOneself, "renewed": renewed, "epochs": epochs, "floor": floor,
		"given back late": givenBackLate, "told of changes": told, "strange keys": strangeKeys, "no keys": noKeys, "context": contextEnds,
		"unreadable": unreadable,
	}
}

// place is where leases are kept.
type place struct {
	open  Open
	o     Options
	began time.Time
}

func newPlace(open Open, o Options) *place {
	if o.Late <= 0 {
		o.Late = 2 * time.Second
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 8
	}
	if o.For <= 0 {
		o.For = 3 * time.Second
	}
	if o.Lived <= 0 {
		o.Lived = 20
	}
	return &place{open: open, o: o, began: time.Now()}
}

// quiet is the longest pause in which a case can be judged: it asks some questions, one after another,
// while a lease lasts.
func (p *place) quiet() time.Duration { return p.o.TTL / 8 }

// now is the moment by a clock that starts with the test.
func (p *place) now() fleet.Instant { return p.clock("")() }

// clock is that of a host.
func (p *place) clock(host string) func() fleet.Instant {
	boot, off := "leasetest", time.Hour
	if p.o.OwnClocks {
		boot += host
		off += time.Duration(len(host)) * 7 * time.Minute
	}
	return func() fleet.Instant {
		up := time.Since(p.began) + off
		return fleet.Instant{Wall: p.began.Add(up - 2*off), Up: fleet.Duration(up), Boot: boot}
	}
}

// host is one who takes leases, with its own clock.
type host struct {
	lease.Store
	me  lease.Holder
	now func() fleet.Instant
}

func (p *place) host(t *Attempt, name, run string) *host {
	h := &host{me: lease.Holder{Host: name, Run: run}, now: p.clock(name)}
	began := time.Now()
	defer func() { t.paused(time.Since(began)) }()
	h.Store = timed{p.open(t, h.me, h.now, p.o.TTL), t}
	return h
}

// two are two hosts.
func (p *place) two(t *Attempt) (*host, *host) { return p.host(t, "a", "1"), p.host(t, "bb", "1") }

// take takes a lease that has to be free.
func take(t *Attempt, h *host, key string, floor uint64) lease.Lease {
	t.Helper()
	l, err := h.Acquire(t.Context(), key, floor)
	if err != nil {
		t.Fatalf("%s cannot take %q, which is free: %v", h.me.Host, key, err)
	}
	if l.Key != key || l.Holder != h.me || l.Epoch == 0 || l.Epoch < floor {
		t.Fatalf("%s took %q by %d and got %+v", h.me.Host, key, floor, l)
	}
	return l
}

// isHeld tries to take a lease that has to be held by somebody, in an epoch.
func isHeld(t *Attempt, h *host, key string, by lease.Holder, epoch uint64) lease.Lease {
	t.Helper()
	l, err := h.Acquire(t.Context(), key, 0)
	if !errors.Is(err, lease.ErrHeld) {
		t.Fatalf("%s asked for %q, which is held: %+v, %v", h.me.Host, key, l, err)
	}
	if l.Key != key || l.Holder != by || l.Epoch != epoch {
		t.Fatalf("it is told that %+v holds it, and not %v by %d", l, by, epoch)
	}
	return l
}

// waitFree takes a lease as soon as it is free, and returns when that was.
func waitFree(t *Attempt, h *host, key string, most time.Duration) (lease.Lease, fleet.Instant) {
	t.Helper()
	var got lease.Lease
	poll(t, most, key+" does not become free", func() bool {
		l, err := h.Acquire(t.Context(), key, 0)
		if err != nil && !errors.Is(err, lease.ErrHeld) {
			t.Fatalf("%s waits for %q: %v", h.me.Host, key, err)
		}
		got = l
		return err == nil
	})
	return got, h.now()
}

// poll looks every few milliseconds until something is so.
func poll(t *Attempt, most time.Duration, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(most); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s within %v", what, most)
		}
	}
}
