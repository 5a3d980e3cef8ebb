package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/lease"
)

// Histories plays several lease.Keepers on real stores, in real time: they want keys at random, give
// up waiting for answers, are forgotten and begin anew. No two ever rely on one key, and each one
// that relies on a key after another has a larger epoch.
func Histories(t *testing.T, open Open, o Options) {
	p := newPlace(open, o)
	Try(t, p.quiet(), func(a *Attempt) { histories(a, p) })
}

func histories(t *Attempt, p *place) {
	w := newWorld(t, p)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() { defer end(); w.lasts(ctx) }()
	var all sync.WaitGroup
	for _, pl := range w.players {
		all.Go(func() { w.play(ctx, pl) })
	}
	if w.p.o.During != nil {
		all.Go(func() { w.p.o.During(ctx, t) })
	}
	all.Wait()
	w.asked.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Logf("seed %d: relied on %d times, %d changes of holder, %d without an answer", w.seed, w.relied, w.changes, w.unknown)
	if !w.tells() {
		t.Errorf("leases were relied on %d times, and changed their holder %d times: that tells nothing", w.relied, w.changes)
	}
}

// lasts returns when the histories tell something, not before their time and at the latest after
// five times that.
func (w *world) lasts(ctx context.Context) {
	tick := time.NewTicker(w.p.o.For)
	defer tick.Stop()
	for range tries {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.mu.Lock()
		tells := w.tells()
		w.mu.Unlock()
		if tells {
			return
		}
	}
}

// tells says whether enough has happened.
func (w *world) tells() bool { return w.relied >= w.p.o.Lived && w.changes >= 2 }

// world is what the players share; mu is held whenever one of them is looked at.
type world struct {
	t       *Attempt
	p       *place
	seed    uint64
	asked   sync.WaitGroup
	mu      sync.Mutex
	rnd     *rand.Rand
	players []*player
	last    map[string]lease.Lease // of each key: who relied on it last
	relied  int
	changes int
	unknown int
}

// player is a host, and one run of its daemon after the other.
type player struct {
	host *host
	k    *lease.Keeper
	runs int
	stop context.CancelFunc // of what its run watches
}

func newWorld(t *Attempt, p *place) *world {
	w := &world{t: t, p: p, seed: uint64(time.Now().UnixNano()), last: map[string]lease.Lease{}}
	w.rnd = rand.New(rand.NewPCG(w.seed, 1))
	for i := range 3 {
		pl := &player{host: p.host(t, strings.Repeat("p", i+1), "run 0")}
		pl.k = lease.NewKeeper(pl.host.me, p.o.TTL)
		w.players = append(w.players, pl)
	}
	return w
}

// keys are few, so that they are wanted by several.
func (w *world) keys() (keys []string) {
	for i := range 6 {
		keys = append(keys, fmt.Sprint(w.t.Name(), " ", i))
	}
	return keys
}

func (w *world) play(ctx context.Context, pl *player) {
	w.watch(ctx, pl)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			w.mu.Lock()
			defer w.mu.Unlock()
			pl.stop()
			return
		case <-tick.C:
			w.turn(ctx, pl)
		}
	}
}

// turn is one of a player: it may begin anew, wants something, and asks for what it is to ask for.
func (w *world) turn(ctx context.Context, pl *player) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rnd.IntN(100) == 0 {
		w.again(ctx, pl)
	}
	now := pl.host.now()
	for _, key := range w.keys() {
		if w.rnd.IntN(40) == 0 {
			pl.k.Want(now, key)
		}
	}
	for _, s := range pl.k.Steps(now) {
		within := w.p.o.TTL
		if w.rnd.IntN(5) == 0 {
			within = time.Duration(w.rnd.IntN(5000)) * time.Microsecond
		}
		h, k := pl.host, pl.k
		w.asked.Go(func() { w.ask(h, k, s, within) })
	}
	w.check()
}

// again has a host run its daemon anew: what it held it does not know of, but the epochs.
func (w *world) again(ctx context.Context, pl *player) {
	pl.stop()
	pl.runs++
	was := pl.k
	pl.host = w.p.host(w.t, pl.host.me.Host, fmt.Sprint("run ", pl.runs))
	pl.k = lease.NewKeeper(pl.host.me, w.p.o.TTL)
	for _, key := range w.keys() {
		pl.k.Remember(key, was.Highest(key))
	}
	w.listen(ctx, pl)
}

func (w *world) watch(ctx context.Context, pl *player) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listen(ctx, pl)
}

// listen has a player told of what the store tells, again when that has ended.
func (w *world) listen(ctx context.Context, pl *player) {
	ctx, pl.stop = context.WithCancel(ctx)
	h, k := pl.host, pl.k
	w.asked.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			_ = h.Watch(ctx, nil, func(l lease.Lease) {
				w.mu.Lock()
				defer w.mu.Unlock()
				k.Saw(h.now(), l)
			})
			<-tick.C
		}
	})
}

// ask asks one question, and tells its keeper the answer.
func (w *world) ask(h *host, k *lease.Keeper, s lease.Step, within time.Duration) {
	ctx, end := context.WithTimeout(context.Background(), within)
	defer end()
	var l lease.Lease
	var err error
	switch s.Op {
	case lease.OpAcquire:
		l, err = h.Acquire(ctx, s.Key, s.Floor)
	case lease.OpRenew:
		l, err = h.Renew(ctx, s.Lease)
	case lease.OpRelease:
		err = h.Release(ctx, s.Lease)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !isAnswer(err) {
		w.unknown++
	}
	k.Answer(h.now(), s, l, err)
	w.check()
}

// check holds what each relies on against what the others do, and did before.
func (w *world) check() {
	by := map[string]lease.Lease{}
	for _, pl := range w.players {
		for _, s := range pl.k.All(pl.host.now()) {
			if !s.Mine {
				continue
			}
			l := lease.Lease{Key: s.Key, Holder: pl.host.me, Epoch: s.Epoch}
			if other, is := by[s.Key]; is {
				w.t.Unsafe("seed %d: %v by %d and %v by %d both rely on %q", w.seed, other.Holder, other.Epoch, l.Holder, l.Epoch, s.Key)
			}
			by[s.Key] = l
			w.follows(l)
		}
	}
}

// follows holds one who relies on a key against who did last.
func (w *world) follows(l lease.Lease) {
	w.relied++
	was := w.last[l.Key]
	if was.Holder == l.Holder && l.Epoch >= was.Epoch {
		w.last[l.Key] = l
		return
	}
	if l.Epoch <= was.Epoch {
		w.t.Unsafe("seed %d: %v relies on %q by %d, after %v by %d", w.seed, l.Holder, l.Key, l.Epoch, was.Holder, was.Epoch)
	}
	w.changes++
	w.last[l.Key] = l
}

// isAnswer says whether an error of a store is one.
func isAnswer(err error) bool { return errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) }
