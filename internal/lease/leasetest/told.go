package leasetest

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"custos/internal/lease"
)

// watcher is one who is told.
type watcher struct {
	host  *host
	keys  string   // what the keys begin with of which it wants to hear
	of    []string // the keys that it asks to be told of; nil: of all
	told  chan lease.Lease
	ended chan error
}

// watch begins one; it ends with the test.
func (p *place) watch(t *Attempt, h *host, keys string, of ...string) *watcher {
	t.Helper()
	w := &watcher{host: h, keys: keys, of: of, told: make(chan lease.Lease, 1000), ended: make(chan error, 1)}
	ctx, end := context.WithCancel(context.Background())
	var all atomic.Int64
	go func() {
		w.ended <- h.Watch(ctx, w.of, func(l lease.Lease) {
			switch {
			case l.Key == "" && l != (lease.Lease{}):
				t.Errorf("%s is told of no key: %+v", h.me.Host, l)
			case l.Key == "":
				all.Add(1)
			case all.Load() == 0 && l.Holder.IsNobody():
				t.Errorf("told that %q is free before all that is held was told", l.Key)
			case strings.HasPrefix(l.Key, keys):
				w.told <- l
			}
		})
	}()
	t.Cleanup(func() {
		end()
		if n := all.Load(); n != 1 {
			t.Errorf("a watch has told %d times that these were all", n)
		}
		select {
		case err := <-w.ended:
			if err != nil {
				t.Errorf("a watch that was ended says %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("a watch that was ended goes on")
		}
	})
	return w
}

// wants waits for the next that is told: that a lease is held, or by its key alone that it is free.
func (w *watcher) wants(t *Attempt, want lease.Lease) {
	t.Helper()
	select {
	case got := <-w.told:
		if want.Holder.IsNobody() && got != (lease.Lease{Key: want.Key}) {
			t.Fatalf("%s is told of %+v, and not that %q is free", w.host.me.Host, got, want.Key)
		}
		if got.Key != want.Key || got.Holder != want.Holder || got.Epoch != want.Epoch || got.Token != want.Token {
			t.Fatalf("%s is told of %+v, and not of %+v", w.host.me.Host, got, want)
		}
	case err := <-w.ended:
		w.ended <- err
		t.Fatalf("%s waits for %+v, and the watch has ended: %v", w.host.me.Host, want, err)
	case <-time.After(10 * time.Second):
		t.Fatalf("%s is not told of %+v", w.host.me.Host, want)
	}
}

// goesOn fails when a watch has ended.
func (w *watcher) goesOn(t *Attempt) {
	t.Helper()
	select {
	case err := <-w.ended:
		w.ended <- err
		t.Fatalf("%s is told nothing any more: %v", w.host.me.Host, err)
	default:
	}
}

func free(key string) lease.Lease { return lease.Lease{Key: key} }

// told: several are told that a lease is taken, renewed, given back and taken again, in order.
func told(t *Attempt, p *place) {
	a, b := p.two(t)
	watchers := []*watcher{p.watch(t, a, t.Name()), p.watch(t, b, t.Name()), p.watch(t, p.host(t, "ccc", "1"), t.Name())}
	all := func(want lease.Lease) {
		t.Helper()
		for _, w := range watchers {
			w.wants(t, want)
		}
	}
	l := take(t, a, t.Name(), 0)
	all(l)
	for range 2 {
		next, err := a.Renew(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		l = next
		all(l)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	all(free(t.Name()))
	all(take(t, b, t.Name(), 0))
}

// toldOfSome: who asks for some keys is told of those, at the start, too, and of no other; of one key alone that nobody
// holds, that these were all.
func toldOfSome(t *Attempt, p *place) {
	a, b := p.two(t)
	key := func(n string) string { return t.Name() + " " + n }
	take(t, a, key("before, another"), 0)
	before := take(t, a, key("before"), 0)
	w := p.watch(t, b, t.Name(), key("before"), key("later"), key("never"))
	p.watch(t, b, t.Name(), key("never"))
	w.wants(t, before)
	take(t, a, key("later, another"), 0)
	later := take(t, a, key("later"), 0)
	w.wants(t, later)
	if err := a.Release(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	for range 2 { // one is given back, and one ends: whichever comes first
		select {
		case got := <-w.told:
			if got != free(before.Key) && got != free(later.Key) {
				t.Fatalf("told of %+v", got)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("not told that they are free")
		}
	}
}

// toldOfItsEnd: that nobody has renewed a lease is told, whatever its key.
func toldOfItsEnd(t *Attempt, p *place) {
	a, b := p.two(t)
	short := t.Name() + " short"
	long := t.Name() + strings.Repeat("\xff", 512-len(t.Name()))
	both := map[string]*watcher{short: p.watch(t, b, short), long: p.watch(t, b, long)}
	for key, w := range both {
		w.wants(t, take(t, a, key, 0))
	}
	for key, w := range both {
		w.wants(t, free(key))
	}
}

// toldFromTheStart: who begins to watch is told of what is held then, and of nothing else.
func toldFromTheStart(t *Attempt, p *place) {
	a, b := p.two(t)
	gone := take(t, a, t.Name()+" 0", 0)
	if err := a.Release(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	l := take(t, a, t.Name()+" 1", 0)
	l, err := a.Renew(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	first := p.watch(t, b, t.Name())
	first.wants(t, l)
	second := p.watch(t, b, t.Name())
	second.wants(t, l)
	for _, w := range []*watcher{first, second} {
		w.wants(t, free(l.Key))
	}
	next := take(t, b, gone.Key, 0)
	for _, w := range []*watcher{first, second} {
		w.wants(t, next)
	}
}
