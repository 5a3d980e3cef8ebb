package act

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// job is one task with what it must have to itself.
type job struct {
	id     string
	task   task
	claims []claim
	// run does the job. When it had to leave something behind that does not end,
	// it returns a channel that is closed once that has ended after all; until
	// then the claims stay taken.
	run func() (hung <-chan struct{})
}

// pool runs jobs beside the caller: in the order they came where their claims
// clash, at once where they do not, so many at a time as there are workers.
type pool struct {
	mu      sync.Mutex
	workers int
	waiting []*job
	held    map[*job]bool // jobs whose claims are taken
	running int
	closed  time.Time     // when close was called; zero before
	changed chan struct{} // closed and replaced whenever a job ends
	closing chan struct{} // closed by close
}

func newPool(workers int) *pool {
	return &pool{workers: workers, held: map[*job]bool{}, changed: make(chan struct{}), closing: make(chan struct{})}
}

// submit queues a job, unless one of the same id waits or runs already, or the
// pool is closed.
func (p *pool) submit(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed.IsZero() || p.has(j.id) {
		return
	}
	p.waiting = append(p.waiting, j)
	p.dispatch()
}

func (p *pool) has(id string) bool {
	for _, j := range p.waiting {
		if j.id == id {
			return true
		}
	}
	for j := range p.held {
		if j.id == id {
			return true
		}
	}
	return false
}

// dispatch starts every job that may run now. One that must wait keeps those
// behind it that clash with it waiting too: nothing is overtaken on one subject.
func (p *pool) dispatch() {
	var left []*job
	for _, j := range p.waiting {
		if p.running >= p.workers || p.clashes(j, left) {
			left = append(left, j)
			continue
		}
		p.held[j] = true
		p.running++
		go p.work(j)
	}
	p.waiting = left
}

func (p *pool) clashes(j *job, earlier []*job) bool {
	for o := range p.held {
		if clash(j.claims, o.claims) {
			return true
		}
	}
	for _, o := range earlier {
		if clash(j.claims, o.claims) {
			return true
		}
	}
	return false
}

func (p *pool) work(j *job) {
	hung := j.run()
	if hung == nil {
		p.end(func() { p.running--; delete(p.held, j) })
		return
	}
	p.end(func() { p.running-- })
	<-hung
	p.end(func() { delete(p.held, j) })
}

// end notes a change, starts what may run now, and wakes those who wait.
func (p *pool) end(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.dispatch()
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait returns when nothing runs, nor waits for what runs. What was left behind
// does not count, nor what waits for that.
func (p *pool) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		// With no worker busy, dispatch has left only what waits for a job that hangs.
		idle, changed := p.running == 0, p.changed
		p.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for the actions to end: %w", ctx.Err())
		}
	}
}

func (p *pool) isClosed() bool { return !p.closedAt().IsZero() }

func (p *pool) closedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close takes no more jobs and returns those that had not begun.
func (p *pool) close() []*job {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.waiting
	p.waiting = nil
	if p.closed.IsZero() {
		p.closed = time.Now()
		close(p.closing)
	}
	return left
}
