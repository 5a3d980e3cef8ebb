package report

import (
	"context"
	"fmt"
	"sync"
	"time"

	"custos/internal/fleet"
)

// What must be told although nothing can be written down goes straight to the
// receivers, from memory: that the ledger cannot be read or written. It is bounded: one
// message to each when that has lasted (a disk that is full lasts, and is told at once),
// one when it is over, and none within an hour of the one before.
const (
	straightAfter = time.Minute
	straightEvery = time.Hour
	straightTries = 30 // of each receiver, a minute apart: one takes no longer than Patience, so that none doubles
)

// straight is what is remembered of that.
type straight struct {
	since fleet.Instant // the trouble
	last  fleet.Instant // the last that was told
	told  bool          // of this trouble
	tried fleet.Instant
	open  map[string]int // tries left, by receiver
	text  fleet.Message

	mu sync.Mutex // guards open
}

// outcry tells of trouble with the ledger, or that it is over. why is "" for none; lasts
// says that it does not pass by itself.
func (r *Reporter) outcry(ctx context.Context, why string, lasts bool, sending *sync.WaitGroup) {
	s, now := &r.straight, r.o.Now()
	if why != "" && s.since.IsZero() {
		s.since = now
	}
	switch {
	case why == "" && s.told:
		s.told = false
		r.begin(s, now, fleet.P3, true, "the ledger can be written again", "")
	case why != "" && !s.told && (lasts || elapsed(now, s.since, straightAfter)) && (s.last.IsZero() || elapsed(now, s.last, straightEvery)):
		s.told, s.last = true, now
		r.begin(s, now, fleet.P1, false, "the ledger cannot be written: nothing is recorded, nothing is done",
			why+"\nThis is sent from memory, once. Alerts are not kept until it is mended: custos doctor, df -h.")
	}
	if why == "" {
		s.since = fleet.Instant{}
	}
	r.tellStraight(ctx, sending)
}

// begin has every receiver told.
func (r *Reporter) begin(s *straight, now fleet.Instant, p fleet.Priority, over bool, what, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = fleet.Message{ID: fmt.Sprintf("straight-%s-%d", r.o.Host, now.Wall.UnixNano()), At: now, Priority: p, AllClear: over,
		Subject: fmt.Sprintf("[%s] custos on %s: %s", p, r.o.Host, what), Body: fleet.Redact(body)}
	s.open, s.tried = map[string]int{}, fleet.Instant{}
	for _, post := range r.posts {
		s.open[post.to] = straightTries
	}
}

// tellStraight tells those who were not reached yet, each on its own.
func (r *Reporter) tellStraight(ctx context.Context, sending *sync.WaitGroup) {
	s, now := &r.straight, r.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 || !s.tried.IsZero() && !elapsed(now, s.tried, time.Minute) {
		return
	}
	s.tried = now
	for _, p := range r.posts {
		if s.open[p.to] > 0 {
			s.open[p.to]--
			text := s.text
			sending.Go(func() { r.sendStraight(ctx, p, text) })
		}
	}
}

func (r *Reporter) sendStraight(ctx context.Context, p *post, m fleet.Message) {
	err := r.notify(ctx, p.n, m)
	r.fail(err)
	s := &r.straight
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.text.ID == m.ID {
		delete(s.open, p.to)
	}
}
