package hold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

const ttl = 15 * time.Second

// table is a store in memory: it can be cut off.
type table struct {
	mu    sync.Mutex
	held  map[string]lease.Lease
	ends  map[string]time.Time
	rev   uint64
	cut   error
	tells []func(lease.Lease)

	watched [][]string // the keys that were asked to be told of, each time
}

// place is the store as one holder has it.
type place struct {
	*table
	me lease.Holder
}

func now() fleet.Instant {
	return fleet.Instant{Wall: time.Now(), Up: fleet.Duration(time.Now().UnixNano()), Boot: "b"}
}

func (p place) Acquire(_ context.Context, key string, floor uint64) (lease.Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != nil {
		return lease.Lease{}, p.cut
	}
	if l, is := p.held[key]; is && time.Now().Before(p.ends[key]) {
		return l, lease.ErrHeld
	}
	p.rev++
	return p.set(lease.Lease{Key: key, Holder: p.me, Epoch: max(p.rev, floor), Token: p.rev}), nil
}

func (p place) set(l lease.Lease) lease.Lease {
	l.Until = now().Add(ttl)
	p.held[l.Key], p.ends[l.Key] = l, time.Now().Add(ttl)
	return l
}

func (p place) Renew(_ context.Context, l lease.Lease) (lease.Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != nil {
		return lease.Lease{}, p.cut
	}
	if p.held[l.Key].Token != l.Token || time.Now().After(p.ends[l.Key]) {
		return lease.Lease{}, lease.ErrLost
	}
	p.rev++
	l.Token = p.rev
	return p.set(l), nil
}

func (p place) Release(_ context.Context, l lease.Lease) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[l.Key].Token == l.Token {
		delete(p.held, l.Key)
	}
	return p.cut
}

func (p place) Watch(ctx context.Context, keys []string, tell func(lease.Lease)) error {
	p.mu.Lock()
	p.tells = append(p.tells, tell)
	p.watched = append(p.watched, keys)
	var held []lease.Lease
	for _, l := range p.held {
		if keys == nil || slices.Contains(keys, l.Key) {
			held = append(held, l)
		}
	}
	p.mu.Unlock()
	for _, l := range held {
		tell(l)
	}
	tell(lease.Lease{})
	<-ctx.Done()
	return nil
}

// begin keeps leases for a host until the test ends.
func begin(t *testing.T, p place, learn func(context.Context, string, uint64) error) *Leases {
	l := New(Options{Store: p, Me: p.me, TTL: ttl, Now: now, Learn: learn, Changed: func() {}, Log: slog.New(slog.DiscardHandler)}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return l
}

func newTable() *table { return &table{held: map[string]lease.Lease{}, ends: map[string]time.Time{}} }

func learned(context.Context, string, uint64) error { return nil }

// TestOneAfterTheOther: who holds a lease keeps it while it is wanted, gives it back when it is not,
// and the other one then has it by a larger epoch.
func TestOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable()
		a, b := begin(t, place{store, lease.Holder{Host: "a", Run: "1"}}, learned), begin(t, place{store, lease.Holder{Host: "b", Run: "1"}}, learned)
		a.Want("k")
		synctest.Wait()
		first := a.At("k")
		if !first.Mine || first.Left < ttl*2/3 {
			t.Fatalf("a stands %+v", first)
		}
		for range 20 {
			a.Want("k")
			b.Want("k")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if s := a.At("k"); !s.Mine || s.Epoch != first.Epoch || s.Left < ttl*2/3 {
				t.Fatalf("a stands %+v", s)
			}
			if s := b.At("k"); s.Mine || s.Holder != "a" {
				t.Fatalf("b stands %+v", s)
			}
		}
		for range 19 {
			b.Want("k")
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		if s := a.At("k"); s.Mine {
			t.Errorf("a keeps what it does not want: %+v", s)
		}
		if s := b.At("k"); !s.Mine || s.Epoch <= first.Epoch {
			t.Errorf("b stands %+v after epoch %d", s, first.Epoch)
		}
	})
}

// TestWhatIsWatched: what something here wants, and no more while that is not very much; what was given back while
// nothing was watched is had at once.
func TestWhatIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable()
		b := place{store, lease.Holder{Host: "b", Run: "1"}}
		held, _ := b.Acquire(t.Context(), "other", 0)
		a := begin(t, place{store, lease.Holder{Host: "a", Run: "1"}}, learned)
		asked := func() (n int, keys []string) {
			store.mu.Lock()
			defer store.mu.Unlock()
			return len(store.watched), store.watched[len(store.watched)-1]
		}
		synctest.Wait()
		a.Want("k", "other")
		time.Sleep(2 * time.Second)
		if n, keys := asked(); n != 2 || !slices.Equal(keys, []string{"k", "other"}) {
			t.Fatalf("it watches the %d. time, to %q", n, keys)
		}
		if s := a.At("other"); s.Holder != "b" {
			t.Fatalf("it stands %+v", s)
		}
		_ = b.Release(t.Context(), held)
		a.Want("more")
		time.Sleep(time.Second)
		if n, keys := asked(); n != 3 || !slices.Equal(keys, []string{"k", "more", "other"}) {
			t.Errorf("it watches the %d. time, to %q", n, keys)
		}
		if s := a.At("other"); s.Holder != "" && !s.Mine {
			t.Errorf("it does not know that nobody holds it: %+v", s)
		}
		var many []string
		for i := range mostWatched {
			many = append(many, fmt.Sprint(i))
		}
		a.Want(many...)
		time.Sleep(4 * time.Second)
		if n, keys := asked(); n != 4 || keys != nil {
			t.Errorf("it watches the %d. time, to %d keys", n, len(keys))
		}
		time.Sleep(time.Hour)
		if n, _ := asked(); n != 4 {
			t.Errorf("it watches the %d. time, and nothing new is wanted", n)
		}
	})
}

// TestAStoreThatIsCutOff: a lease lasts to its own end, is held no moment longer, and is got again
// when the store answers.
func TestAStoreThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable()
		a := begin(t, place{store, lease.Holder{Host: "a", Run: "1"}}, learned)
		a.Want("k")
		synctest.Wait()
		store.mu.Lock()
		store.cut = errors.New("no answer")
		store.mu.Unlock()
		time.Sleep(13 * time.Second)
		a.Want("k")
		if s := a.At("k"); !s.Mine {
			t.Errorf("it was given up early: %+v", s)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := a.At("k"); s.Mine || s.Why != "no answer" {
			t.Errorf("after its end: %+v", s)
		}
		store.mu.Lock()
		store.cut = nil
		store.mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s := a.At("k"); !s.Mine || s.Why != "" {
			t.Errorf("when it answers again: %+v", s)
		}
	})
}

// TestNothingRestsOnAnEpochThatIsNotWrittenDown: with a full disk no lease is had.
func TestNothingRestsOnAnEpochThatIsNotWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		store := newTable()
		var wrote []uint64
		a := begin(t, place{store, lease.Holder{Host: "a", Run: "1"}}, func(_ context.Context, _ string, e uint64) error {
			store.mu.Lock()
			defer store.mu.Unlock()
			if full == nil {
				wrote = append(wrote, e)
			}
			return full
		})
		a.Want("k")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := a.At("k"); s.Mine || s.Why != full.Error() {
			t.Fatalf("it stands %+v", s)
		}
		store.mu.Lock()
		full = nil
		store.mu.Unlock()
		for range 5 { // others are left to it for two times of a lease
			a.Want("k")
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		if s := a.At("k"); !s.Mine || len(wrote) != 1 || wrote[0] != s.Epoch {
			t.Fatalf("it stands %+v, written down is %v", s, wrote)
		}
	})
}

// TestAFullDiskKeepsNobodyOut: a host that cannot write a lease down leaves it to another one that can.
func TestAFullDiskKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable()
		a := begin(t, place{store, lease.Holder{Host: "a", Run: "1"}}, func(context.Context, string, uint64) error { return errors.New("no space left on device") })
		a.Want("k")
		synctest.Wait()
		b := begin(t, place{store, lease.Holder{Host: "b", Run: "1"}}, learned)
		for range 20 {
			a.Want("k")
			b.Want("k")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if s := b.At("k"); !s.Mine {
				t.Fatalf("b stands %+v", s)
			}
		}
	})
}

// TestLeavingGivesBack: who ends keeps nobody waiting.
func TestLeavingGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable()
		l := New(Options{Store: place{store, lease.Holder{Host: "a", Run: "1"}}, Me: lease.Holder{Host: "a", Run: "1"}, TTL: ttl, Now: now, Learn: learned, Changed: func() {}, Log: slog.New(slog.DiscardHandler)}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		l.Want("k")
		synctest.Wait()
		if !l.At("k").Mine {
			t.Fatal("it is not held")
		}
		cancel()
		<-done
		if l.At("k").Mine || len(store.held) != 0 {
			t.Errorf("it holds still: %+v, %v", l.At("k"), store.held)
		}
	})
}
