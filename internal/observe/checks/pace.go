package checks

import (
	"time"

	"custos/internal/fleet"
)

// How often a command is run. One that answers is asked at least each half minute
// at first, and at most each five minutes once its gate has been open for hours;
// one that says nothing is asked ever more seldom.
const (
	soonest = 30 * time.Second
	calm    = 5 * time.Minute
	latest  = 10 * time.Minute
	ofAge   = 60 // the pause of a command that answers is this part of its gate's age
)

// answer is what a command said last, and when it is asked again.
type answer struct {
	holds fleet.Leaf[bool]
	at    fleet.Instant
	pause time.Duration
	next  fleet.Instant
}

// waited is how long an answer has been due; of one that there is not: for ever.
func (a answer) waited(now fleet.Instant) time.Duration {
	if a.next.IsZero() {
		return 1 << 40
	}
	return now.Since(a.next)
}

// note keeps an answer, and says when the gate is asked again.
func (p *Probe) note(g fleet.Gate, holds fleet.Leaf[bool]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	pause := min(max(now.Since(g.At)/ofAge, soonest), calm)
	if !holds.IsKnown() {
		pause = min(max(2*p.last[g.ID].pause, soonest), latest)
	}
	p.last[g.ID] = answer{holds: holds, at: now, pause: pause, next: now.Add(pause)}
}
