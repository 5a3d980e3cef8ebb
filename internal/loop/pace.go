package loop

import (
	"sync"
	"time"
)

// pace is when the next patrol is due: every so often, and ever more seldom while
// nothing happens. What happens brings the next one near again.
type pace struct {
	every   time.Duration // while something happens
	longest time.Duration // while nothing does; not above every: as often as ever

	mu       sync.Mutex
	step     time.Duration // from one patrol to the next, as it is now
	gap      time.Duration // from the last patrol to the one that is due: less than step when something happened since
	last     time.Time     // the last patrol began
	stirred  bool          // something happened since
	idle     bool          // the last pass was
	passedAt time.Time     // it began

	timer *time.Timer // nil: nobody patrols by the clock
}

// stride is how long after a patrol the next one is due: twice as long as the
// last time when that patrol and all since the one before it were idle.
func stride(every, longest, was time.Duration, idle bool) time.Duration {
	if !idle || longest <= every {
		return every
	}
	return min(max(2*was, every), longest)
}

// nearer is how long after the last patrol the next one is due once something
// happened, so long after that patrol: within every, and never later than it was.
func nearer(every, gap, since time.Duration) time.Duration {
	return min(gap, since+every)
}

// start begins to patrol by the clock: the channel tells when.
func (p *pace) start() <-chan time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.timer = time.Now(), time.NewTimer(p.every)
	return p.timer.C
}

func (p *pace) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}

// patrolled notes a patrol that began at a moment, and when the next one is due.
func (p *pace) patrolled(began time.Time, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = stride(p.every, p.longest, max(p.step, p.every), idle && !p.stirred)
	p.last, p.gap, p.stirred = began, p.step, false
	p.set()
}

// stir notes that something happened.
func (p *pace) stir() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stirred = true
	if gap := nearer(p.every, p.due(), time.Since(p.last)); gap < p.due() {
		p.gap = gap
		p.set()
	}
}

// set sets the clock; what is overdue is due at once.
func (p *pace) set() {
	if p.timer != nil {
		p.timer.Reset(max(0, p.due()-time.Since(p.last)))
	}
}

func (p *pace) due() time.Duration {
	if p.gap == 0 {
		return p.every // there was no patrol yet
	}
	return p.gap
}

// now returns how long after the last patrol the next one is due.
func (p *pace) now() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.due()
}

// lulls says whether the last pass was idle, and began less than so long ago.
func (p *pace) lulls(lull time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle && time.Since(p.passedAt) < lull
}

// passed notes a pass that began at a moment. One that is no patrol and found
// nothing to do tells nothing of the patrols.
func (p *pace) passed(patrol bool, began time.Time, idle bool) {
	p.mu.Lock()
	p.idle, p.passedAt = idle, began
	p.mu.Unlock()
	switch {
	case patrol:
		p.patrolled(began, idle)
	case !idle:
		p.stir()
	}
}
