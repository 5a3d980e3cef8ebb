package report

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

type outbox struct {
	due    []fleet.Message
	sent   []string
	failed map[string]fleet.Instant
}

func (o *outbox) Due(context.Context, fleet.Instant, int) ([]fleet.Message, error) { return o.due, nil }
func (o *outbox) Sent(_ context.Context, id string, _ fleet.Instant) error {
	o.sent = append(o.sent, id)
	return nil
}
func (o *outbox) Failed(_ context.Context, id string, _ fleet.Instant, _ string, next fleet.Instant) error {
	o.failed[id] = next
	return nil
}

type notifier func(context.Context, fleet.Message) error

func (notifier) Name() string                                        { return "fake" }
func (n notifier) Notify(ctx context.Context, m fleet.Message) error { return n(ctx, m) }

func TestDeliver(t *testing.T) {
	for name, c := range map[string]struct {
		n     notifier
		sent  bool
		retry bool
	}{
		"told":   {func(context.Context, fleet.Message) error { return nil }, true, false},
		"fails":  {func(context.Context, fleet.Message) error { return errors.New("down") }, false, true},
		"never":  {func(context.Context, fleet.Message) error { return ErrPermanent }, false, false},
		"panics": {func(context.Context, fleet.Message) error { panic("x") }, false, false},
		"hangs":  {func(context.Context, fleet.Message) error { time.Sleep(time.Hour); return nil }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &outbox{due: []fleet.Message{{ID: "1"}}, failed: map[string]fleet.Instant{}}
				r := New(Options{Notifiers: []Notifier{c.n}, Outbox: o, Now: func() fleet.Instant { return at(5) }})
				began := time.Now()
				err := r.Deliver(t.Context())
				if (err == nil) != c.sent || (len(o.sent) == 1) != c.sent {
					t.Errorf("err %v, sent %v; want sent %v", err, o.sent, c.sent)
				}
				if next, failed := o.failed["1"]; failed && next.IsZero() == c.retry {
					t.Errorf("next try at %v; want retry %v", next, c.retry)
				}
				if d := time.Since(began); d > 10*time.Second {
					t.Errorf("a dead receiver held delivery for %v", d)
				}
				time.Sleep(2 * time.Hour) // fake: lets the hung one end
			})
		})
	}
}
