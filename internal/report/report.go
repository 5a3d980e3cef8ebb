package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
)

// ErrPermanent is wrapped by a notifier when trying again cannot help.
var ErrPermanent = errors.New("permanent")

// Outbox is where messages wait, committed with the alerts they tell of.
type Outbox interface {
	// Due returns messages that are to be tried now.
	Due(ctx context.Context, at fleet.Instant, limit int) ([]fleet.Message, error)
	// Sent strikes a message off.
	Sent(ctx context.Context, id string, at fleet.Instant) error
	// Failed puts a message off until next; a zero next gives it up.
	Failed(ctx context.Context, id string, at fleet.Instant, why string, next fleet.Instant) error
}

// Journal keeps what each patrol saw and did.
type Journal interface {
	// Append adds an entry to the file of its day.
	Append(at fleet.Instant, entry string) error
}

// Options are what a Reporter is made of.
type Options struct {
	Notifiers []Notifier
	Outbox    Outbox
	Journal   Journal
	Now       func() fleet.Instant
	Patience  time.Duration // how long one notifier may take; default 10 s
}

// Reporter delivers messages and writes the journal.
type Reporter struct{ o Options }

// New returns a Reporter.
func New(o Options) *Reporter {
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	return &Reporter{o}
}

// Journal appends the entry of a patrol. done are the results since the last one.
func (r *Reporter) Journal(p fleet.Pass, done []fleet.Result) error {
	if err := r.o.Journal.Append(p.Snapshot.At, Entry(p, done)); err != nil {
		return fmt.Errorf("cannot write the journal of patrol %d: %w", p.Number, err)
	}
	return nil
}

// Deliver tries every message that is due, once, and returns what went wrong.
// It is called beside the loop, never by it.
func (r *Reporter) Deliver(ctx context.Context) error {
	if len(r.o.Notifiers) == 0 {
		return nil
	}
	due, err := r.o.Outbox.Due(ctx, r.o.Now(), 100)
	if err != nil {
		return fmt.Errorf("cannot read the outbox: %w", err)
	}
	var errs []error
	for _, m := range due {
		errs = append(errs, r.deliver(ctx, m))
	}
	return errors.Join(errs...)
}

func (r *Reporter) deliver(ctx context.Context, m fleet.Message) error {
	err := r.tell(ctx, m)
	at := r.o.Now()
	if err == nil {
		return r.o.Outbox.Sent(ctx, m.ID, at)
	}
	next := at.Add(time.Minute)
	if errors.Is(err, ErrPermanent) {
		next = fleet.Instant{}
	}
	return errors.Join(err, r.o.Outbox.Failed(ctx, m.ID, at, err.Error(), next))
}

// tell gives the message to every notifier; one that fails does not silence
// the others, and one that hangs is given up after Patience.
func (r *Reporter) tell(ctx context.Context, m fleet.Message) error {
	errs := make(chan error, len(r.o.Notifiers))
	ctx, cancel := context.WithTimeout(ctx, r.o.Patience)
	defer cancel()
	for _, n := range r.o.Notifiers {
		go func() { errs <- r.notify(ctx, n, m) }()
	}
	var all []error
	for range r.o.Notifiers {
		select {
		case err := <-errs:
			all = append(all, err)
		case <-ctx.Done():
			return errors.Join(append(all, fmt.Errorf("cannot tell %q in time: %w", m.Subject, ctx.Err()))...)
		}
	}
	return errors.Join(all...)
}

func (r *Reporter) notify(ctx context.Context, n Notifier, m fleet.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot tell %s: it panicked: %v: %w", n.Name(), p, ErrPermanent)
		}
	}()
	if err := n.Notify(ctx, m); err != nil {
		return fmt.Errorf("cannot tell %s: %w", n.Name(), err)
	}
	return nil
}
