package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
)

// ErrBarred is wrapped by a prover when the place itself says that nothing told
// there arrives: Custos is no member of it, may not speak, or is not known.
var ErrBarred = errors.New("not allowed to speak there")

// Prover is a notifier that can ask whether its messages would arrive, without sending
// any. An error that does not wrap ErrBarred says that this is not known.
type Prover interface {
	Prove(ctx context.Context) error
}

// Proofs are asked for so often; of a place that is barred, more often, so that its
// end is seen.
const (
	proveEvery  = 2 * time.Minute
	provedAgain = 30 * time.Second
)

// standing is what is known of one receiver beside what it was told. It has its own
// lock: it is read while the ledger is slow.
type standing struct {
	mu      sync.Mutex
	proving bool
	asked   fleet.Instant // the last proof that was asked for
	barred  string
	proof   fleet.Instant // the last message, or proof, that got there
	since   fleet.Instant // what is not delivered has waited since
	tries   int
	why     string
}

func (s *standing) note(t Delivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proof.IsZero() || s.proof.Before(t.Proof) {
		s.proof = t.Proof
	}
	s.since, s.tries, s.why = t.Since, t.Tries, t.Why
}

// Receivers says of each receiver how it stands.
func (r *Reporter) Receivers() []fleet.Receiver {
	now := r.o.Now()
	out := make([]fleet.Receiver, 0, len(r.posts))
	for _, p := range r.posts {
		out = append(out, p.stands.fact(p.to, now))
	}
	return out
}

func (s *standing) fact(name string, now fleet.Instant) fleet.Receiver {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := fleet.Receiver{Name: name, Tries: s.tries, Why: s.why, Barred: s.barred, Proof: fleet.Unknown[fleet.Duration]("nothing has got there yet")}
	if !s.since.IsZero() {
		f.Waiting = fleet.Duration(max(now.Since(s.since), 0))
	}
	if !s.proof.IsZero() {
		f.Proof = fleet.Known(fleet.Duration(max(now.Since(s.proof), 0)))
	}
	return f
}

// Try tells one receiver at once: routes, quiet hours and what waits for it change nothing,
// and it is not tried again. An error says why it was not taken.
func (r *Reporter) Try(ctx context.Context, to string, m fleet.Message) error {
	i := slices.IndexFunc(r.posts, func(p *post) bool { return p.to == to })
	if i < 0 {
		return fmt.Errorf("cannot tell %q: there is no such receiver", to)
	}
	err := r.notify(ctx, r.posts[i].n, m)
	if err == nil {
		r.posts[i].stands.took(r.o.Now())
	}
	return err
}

// took keeps that something got there.
func (s *standing) took(now fleet.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proof = now
}

// prove asks a receiver whether its messages would arrive, when its time has come.
func (r *Reporter) prove(ctx context.Context, p *post, sending *sync.WaitGroup) {
	prover, can := p.n.(Prover)
	if !can || !p.stands.due(r.o.Now()) {
		return
	}
	sending.Go(func() {
		err := r.proveOnce(ctx, prover)
		if ctx.Err() == nil {
			p.stands.proved(err, r.o.Now())
		}
	})
}

func (r *Reporter) proveOnce(ctx context.Context, p Prover) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, r.o.Patience)
	defer cancel()
	return p.Prove(ctx)
}

func (s *standing) due(now fleet.Instant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	every := proveEvery
	if s.barred != "" {
		every = provedAgain
	}
	if s.proving || !s.asked.IsZero() && !elapsed(now, s.asked, every) {
		return false
	}
	s.proving, s.asked = true, now
	return true
}

// proved keeps what came of a proof. One that failed for another reason leaves what
// was known: a place that does not answer has not let Custos in again.
func (s *standing) proved(err error, now fleet.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proving = false
	switch {
	case err == nil:
		s.barred, s.proof = "", now
	case errors.Is(err, ErrBarred):
		s.barred = fleet.Redact(fleet.Line(err.Error(), 200))
	}
}
