package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"custos/internal/fleet"
)

// post is one receiver: who it is, what it was sent, and whether it is being sent one
// something now.
type post struct {
	n  Notifier
	to string

	mu     sync.Mutex
	busy   bool
	loaded bool
	stands standing
	told   Delivered
}

// attend sees to one receiver, and returns the messages it needs no more. What is
// sent is sent beside; a receiver that is being told is left alone meanwhile.
func (r *Reporter) attend(ctx context.Context, p *post, s Scene, sending *sync.WaitGroup) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		return nil, nil
	}
	if err := r.recall(ctx, p); err != nil {
		return nil, err
	}
	if p.told.Tries > 0 && !p.told.Next.IsZero() && s.At.Before(p.told.Next) && p.told.Next.Since(s.At) <= longest {
		return nil, nil
	}
	s.Asks = r.asksOf(p.to, s)
	v := Deliver(s, p.told, r.o.Routes, p.to)
	p.told = v.Told
	if v.Send == nil {
		return v.Over, r.forget(ctx, p, v.Over, s)
	}
	if err := r.keep(ctx, p); err != nil { // before it is sent: after a crash it is sent as it was
		return nil, err
	}
	p.busy = true
	sending.Go(func() { r.send(ctx, p, *v.Send) })
	return v.Over, nil
}

// recall reads what a receiver was told, once.
func (r *Reporter) recall(ctx context.Context, p *post) error {
	if p.loaded || r.o.Memory == nil {
		return nil
	}
	text, err := r.o.Memory.Told(ctx, p.to)
	if err != nil {
		return fmt.Errorf("cannot read what %s was sent: %w", p.to, err)
	}
	p.loaded = true
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &p.told); err != nil {
		p.told = Delivered{} // it is told again what is open: twice is better than never
	}
	p.stands.note(p.told)
	return nil
}

func (r *Reporter) keep(ctx context.Context, p *post) error {
	if r.o.Memory == nil {
		return nil
	}
	text, err := json.Marshal(p.told)
	if err == nil {
		err = r.o.Memory.Keep(ctx, p.to, text, r.o.Now())
	}
	if err != nil {
		return fmt.Errorf("cannot keep what %s was sent: %w", p.to, err)
	}
	return nil
}

// forget drops messages that are not due any more for any receiver: they were struck
// off, so it will not be asked whether this receiver knows them.
func (r *Reporter) forget(ctx context.Context, p *post, over []string, s Scene) error {
	due := map[string]bool{}
	for _, m := range s.News {
		due[m.ID] = true
	}
	n := len(p.told.News)
	for id := range p.told.News {
		if !due[id] {
			delete(p.told.News, id)
		}
	}
	if len(p.told.News) == n {
		return nil
	}
	return r.keep(ctx, p)
}

// send tells a receiver one thing, and keeps what became of it.
func (r *Reporter) send(ctx context.Context, p *post, d Delivery) {
	err := r.notify(ctx, p.n, d.Message)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	switch at := r.o.Now(); {
	case err == nil:
		p.told = p.told.Arrived(d, at)
	case errors.Is(err, ErrPermanent): // given up, which proves nothing
		proof := p.told.Proof
		p.told = p.told.Arrived(d, at)
		p.told.Proof = proof
	case ctx.Err() == nil:
		p.told = p.told.failed(err.Error(), asked(err), at)
	}
	p.stands.note(p.told)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Patience)
	defer cancel()
	r.fail(errors.Join(err, r.keep(ctx, p)))
}

// asked is how long the receiver said it wants to be left alone.
func asked(err error) time.Duration {
	var limit interface{ RetryAfter() time.Duration }
	if errors.As(err, &limit) {
		return limit.RetryAfter()
	}
	return 0
}

// notify tells one receiver, which is given up after Patience, whether it heeds
// that or not.
func (r *Reporter) notify(ctx context.Context, n Notifier, m fleet.Message) error {
	ctx, cancel := context.WithTimeout(ctx, r.o.Patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- tellOnce(ctx, n, m) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cannot notify %s of %q in time: %w", n.Name(), m.Subject, ctx.Err())
	}
}

func tellOnce(ctx context.Context, n Notifier, m fleet.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot notify %s: it panicked: %v: %w", n.Name(), p, ErrPermanent)
		}
	}()
	if err := n.Notify(ctx, m); err != nil {
		return fmt.Errorf("cannot notify %s: %w", n.Name(), err)
	}
	return nil
}
