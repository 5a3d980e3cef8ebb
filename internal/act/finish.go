package act

import (
	"context"
	"errors"
	"time"

	"custos/internal/fleet"
)

// finish writes a result down, trying again until it is written: until then the
// action stays in flight, and nothing else is done on its subject. It returns
// false when another result stands, or when the Actor closed before it could be
// written; the next Custos then finds the action open and recovers it.
func (a *Actor) finish(r fleet.Result) bool {
	if r.Ended.IsZero() {
		r.Ended = a.opts.Now()
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := a.writeDown(r)
		switch {
		case err == nil:
			return true
		case isSettled(err):
			a.opts.Log.Warn("another result of an action stands", "action", r.ActionID, "status", r.Status, "err", err)
			return false
		}
		a.opts.Log.Error("cannot write a result down", "action", r.ActionID, "status", r.Status, "err", err)
		if closed := a.pool.closedAt(); !closed.IsZero() && time.Since(closed) >= lastWords {
			return false
		}
		a.pause(wait)
	}
}

func (a *Actor) writeDown(r fleet.Result) error {
	return safely(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return a.opts.Ledger.Finish(ctx, r)
	})
}

// pause waits before the next try; the closing of the Actor cuts it short, and
// after that no pause is longer than a second.
func (a *Actor) pause(wait time.Duration) {
	closing := a.pool.closing
	if a.pool.isClosed() {
		wait, closing = min(wait, time.Second), nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closing:
	}
}

// isSettled says whether trying again cannot help.
func isSettled(err error) bool {
	var s interface{ Settled() bool }
	return errors.As(err, &s) && s.Settled()
}
