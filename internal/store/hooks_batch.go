package store

import (
	"context"
	"sync"

	"custos/internal/fleet"
)

// HookBatch takes hook events from many callers at once, and commits what came
// while the last commit ran as one: a burst then costs a fraction of one commit
// an event, and a single event waits for nobody.
type HookBatch struct {
	s       *Store
	mu      sync.Mutex
	busy    bool // somebody commits
	waiting []*waitingHook
}

// maxHookBatch keeps a commit short: others write to the database too.
const maxHookBatch = 256

type waitingHook struct {
	event fleet.HookEvent
	turn  chan bool // true: taken, by another caller; false: it is yours to commit
	fresh bool
	err   error
}

// NewHookBatch returns one for a store.
func NewHookBatch(s *Store) *HookBatch { return &HookBatch{s: s} }

// TakeHook is Store.takeHook. A ctx that ends does not take back an event that
// others commit along.
func (b *HookBatch) TakeHook(ctx context.Context, e fleet.HookEvent) (fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, failed("write down a hook event", err)
	}
	w := &waitingHook{event: e, turn: make(chan bool, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if !b.busy {
		b.busy = true
		w.turn <- false
	}
	b.mu.Unlock()
	if taken := <-w.turn; !taken {
		b.commit(context.WithoutCancel(ctx))
	}
	return w.fresh, w.err
}

// commit writes the oldest that wait, its caller's among them, and hands over to
// the next.
func (b *HookBatch) commit(ctx context.Context) {
	b.mu.Lock()
	batch := b.waiting[:min(len(b.waiting), maxHookBatch)]
	b.waiting = b.waiting[len(batch):]
	b.mu.Unlock()
	b.write(ctx, batch)
	b.mu.Lock()
	if b.busy = len(b.waiting) > 0; b.busy {
		b.waiting[0].turn <- false
	}
	b.mu.Unlock()
	for _, w := range batch[1:] { // the first is the caller's
		w.turn <- true
	}
}

// write commits a batch; when that fails, each by itself, so that none suffers
// from another.
func (b *HookBatch) write(ctx context.Context, batch []*waitingHook) {
	list := make([]fleet.HookEvent, len(batch))
	for i, w := range batch {
		list[i] = w.event
	}
	fresh, err := b.s.takeHooks(ctx, list)
	for i, w := range batch {
		switch {
		case err == nil:
			w.fresh = fresh[i]
		case len(batch) == 1:
			w.err = err
		default:
			w.fresh, w.err = b.s.takeHook(ctx, w.event)
		}
	}
}
