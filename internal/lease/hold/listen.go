package hold

import (
	"context"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// mostHeeded is how many keys are listened to by name. Who heeds more hears of all: a store has to look at each
// name for each thing that it tells.
const mostHeeded = 200

// ears are one time of listening to a store.
type ears struct {
	keys  []string // nil: of all
	since fleet.Instant
	stop  context.CancelFunc
	told  map[string]bool // what was told as held at first; for who hears alone
}

// listen hears what the store tells of the keys that are heeded, again and again.
func (l *Leases) listen(ctx context.Context) {
	for ctx.Err() == nil {
		within, stop := context.WithCancel(ctx)
		e := l.prick(stop)
		err := l.o.Store.Watch(within, e.keys, func(one lease.Lease) { l.hear(ctx, e, one) })
		retuned := within.Err() != nil
		if stop(); ctx.Err() != nil {
			return
		}
		if !retuned {
			l.quiet(err)
			pause(ctx, anew)
		}
	}
}

// prick begins to listen to what is heeded now.
func (l *Leases) prick(stop context.CancelFunc) *ears {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	l.ears = &ears{keys: append([]string{}, l.keeper.Heeded(now)...), since: now, stop: stop, told: map[string]bool{}}
	if len(l.ears.keys) > mostHeeded {
		l.ears.keys = nil
	}
	return l.ears
}

// retune has it be listened anew where something is heeded that is not listened to, once a second at most: a host
// that hears of all that others hold hears what many others do each second. It returns in what time to look again.
func (l *Leases) retune() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, e := l.o.Now(), l.ears
	if e == nil || !slices.ContainsFunc(l.keeper.Heeded(now), e.misses) {
		return time.Minute
	}
	left := anew - now.Since(e.since)
	if left > 0 {
		return left
	}
	e.stop()
	return anew
}

// misses says whether a key is not listened to.
func (e *ears) misses(key string) bool {
	_, is := slices.BinarySearch(e.keys, key)
	return e.keys != nil && !is
}

// heardAll takes what was not told to be held for free: it may have been given back while nobody listened.
func (l *Leases) heardAll(e *ears) {
	l.mu.Lock()
	l.silent = ""
	for _, key := range l.keeper.Heeded(l.o.Now()) {
		if !e.misses(key) && !e.told[key] && l.keeper.At(l.o.Now(), key).Holder != "" {
			l.keeper.Saw(l.o.Now(), lease.Lease{Key: key})
		}
	}
	l.mu.Unlock()
	l.hurry()
}
