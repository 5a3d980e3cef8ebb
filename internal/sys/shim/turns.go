package shim

import (
	"context"
	"fmt"
	"sync"
)

// Turns has callers who start the same instance take turns, so that the second
// finds what the first has made and neither clears away the other's. The zero
// Turns is ready. It knows nothing of other processes: only the one that holds
// the lock of Custos' state starts agents.
type Turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// Take waits for its turn with dir. The caller calls done when it has finished.
func (t *Turns) Take(ctx context.Context, dir string) (done func(), err error) {
	for {
		t.mu.Lock()
		before, taken := t.busy[dir]
		if !taken {
			break
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot take a turn with %s: %w", dir, ctx.Err())
		case <-before:
		}
	}
	defer t.mu.Unlock()
	if t.busy == nil {
		t.busy = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	t.busy[dir] = mine
	return func() {
		t.mu.Lock()
		delete(t.busy, dir)
		t.mu.Unlock()
		close(mine)
	}, nil
}
