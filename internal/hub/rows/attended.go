package rows

import (
	"context"
	"sync"
	"time"
)

// still is how long after the last look somebody is taken to look still.
const still = 30 * time.Second

// Attended has a board watch while somebody looks at it, and hold nothing while nobody does. It is
// safe for concurrent use.
type Attended struct {
	ctx    context.Context
	board  *Board
	filter string
	still  time.Duration

	mu      sync.Mutex
	looked  time.Time
	running bool
}

// Attend watches from the first look on, while there are looks, until ctx ends. filter is as for Board.Watch.
func Attend(ctx context.Context, b *Board, filter string) *Attended {
	return &Attended{ctx: ctx, board: b, filter: filter, still: still}
}

// Look returns what is known now, at once, and has it be watched for a while: the first time nothing is
// known yet.
func (a *Attended) Look() Snapshot {
	a.mu.Lock()
	a.looked = time.Now()
	if !a.running && a.ctx.Err() == nil {
		a.running = true
		go a.watch()
	}
	a.mu.Unlock()
	return a.board.Snapshot()
}

// watch watches until nobody has looked for a while.
func (a *Attended) watch() {
	ctx, cancel := context.WithCancel(a.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.board.Watch(ctx, a.filter)
	}()
	for !a.isLeft() {
		pause(a.ctx, nil, a.still/30)
	}
	cancel()
	<-ended
	a.left()
}

func (a *Attended) isLeft() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ctx.Err() != nil || time.Since(a.looked) >= a.still
}

// left lets the next look watch again. Who has looked while the watch ended is not left without one.
func (a *Attended) left() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = a.ctx.Err() == nil && time.Since(a.looked) < a.still
	if a.running {
		go a.watch()
	}
}
