package containers

import (
	"context"
	"time"
)

// How events are put together, and how soon a stream that ended is opened again.
const (
	gather = time.Second
	soon   = time.Second
	later  = 30 * time.Second
)

// Watch calls changed when the engine tells of an event, until ctx ends: of events
// that come together once at first and once at the end. An event is never a fact,
// only a reason to look. When the stream ends (the engine was restarted), it is
// opened again, and whatever happened meanwhile is one event.
func (p *Probe) Watch(ctx context.Context, changed func()) error {
	if p.address == "" {
		return nil
	}
	events := make(chan struct{}, 1)
	go gathered(ctx, events, changed)
	for wait := soon; ; {
		heard := false
		_ = p.o.Engine.Listen(ctx, func() { // why it ended is told by the next look
			heard = true
			ring(events)
		})
		if heard {
			wait = soon
			ring(events) // the engine went away: that is to be seen too
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, later)
	}
}

func ring(events chan<- struct{}) {
	select {
	case events <- struct{}{}:
	default:
	}
}

// gathered passes events on: the first at once, those of the second after it as one.
func gathered(ctx context.Context, events <-chan struct{}, changed func()) {
	for {
		select {
		case <-events:
			changed()
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return
		}
	}
}
