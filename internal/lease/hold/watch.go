package hold

import (
	"context"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// mostWatched is how many keys are watched by name. Who wants more is told of all: a store has to look at each
// name for each thing that it tells.
const mostWatched = 200

// watching is one watch of a store.
type watching struct {
	keys  []string // nil: of all
	since fleet.Instant
	stop  context.CancelFunc
	told  map[string]bool // what was told as held at first; for whom it is told to alone
}

// listen hears what the store tells of the keys that are watched, again and again.
func (l *Leases) listen(ctx context.Context) {
	for ctx.Err() == nil {
		within, stop := context.WithCancel(ctx)
		e := l.begin(stop)
		err := l.o.Store.Watch(within, e.keys, func(one lease.Lease) { l.hear(ctx, e, one) })
		changed := within.Err() != nil
		if stop(); ctx.Err() != nil {
			return
		}
		if !changed {
			l.quiet(err)
			pause(ctx, anew)
		}
	}
}

// begin begins a watch of what is to be watched now.
func (l *Leases) begin(stop context.CancelFunc) *watching {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	l.watching = &watching{keys: append([]string{}, l.keeper.Watched(now)...), since: now, stop: stop, told: map[string]bool{}}
	if len(l.watching.keys) > mostWatched {
		l.watching.keys = nil
	}
	return l.watching
}

// watchAnew ends a watch that lacks a key, for one that has it, once a second at most: a host that is told of all that
// others hold is told what many others do each second. It returns in what time to look again.
func (l *Leases) watchAnew() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, e := l.o.Now(), l.watching
	if e == nil || !slices.ContainsFunc(l.keeper.Watched(now), e.misses) {
		return time.Minute
	}
	left := anew - now.Since(e.since)
	if left > 0 {
		return left
	}
	e.stop()
	return anew
}

// misses says whether a key is not watched.
func (e *watching) misses(key string) bool {
	_, is := slices.BinarySearch(e.keys, key)
	return e.keys != nil && !is
}

// heardAll takes what was not told to be held for free: it may have been given back while nothing was watched.
func (l *Leases) heardAll(e *watching) {
	l.mu.Lock()
	l.silent = ""
	for _, key := range l.keeper.Watched(l.o.Now()) {
		if !e.misses(key) && !e.told[key] && l.keeper.At(l.o.Now(), key).Holder != "" {
			l.keeper.Saw(l.o.Now(), lease.Lease{Key: key})
		}
	}
	l.mu.Unlock()
	l.hurry()
}
