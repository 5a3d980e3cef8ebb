package report

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
)

// Mirror is another system that is shown again and again which alerts fire and
// which have ended. It groups, silences and notifies people by itself, so that no
// route leads to it and nothing is remembered of what it was shown.
type Mirror interface {
	Name() string
	// Every is the time between two showings, when nothing changes.
	Every() time.Duration
	// Show shows it alerts that fire, and those that ended lately.
	Show(ctx context.Context, at fleet.Instant, alerts []fleet.Alert) error
}

// afterglow is how long an alert that ended is shown as ended: a mirror that was
// away for less gets it.
const afterglow = 15 * time.Minute

// looking is one mirror, and what it was shown last.
type looking struct {
	m    Mirror
	busy atomic.Bool

	mu   sync.Mutex
	at   fleet.Instant // of the last showing, whatever became of it
	what uint64        // what was shown, in one number; 0 when it did not arrive
}

// reflect shows every mirror what is true, when its time has come or something
// has changed. last are the alerts that could be read last: what cannot be read
// now has not ended.
func (r *Reporter) reflect(ctx context.Context, sending *sync.WaitGroup) error {
	if len(r.mirrors) == 0 {
		return nil
	}
	at := r.o.Now()
	if err := r.lookAgain(ctx, at); err != nil {
		return err
	}
	list := lit(r.shown, at)
	sum := imprint(list)
	for _, l := range r.mirrors {
		if l.due(at, sum) {
			l.busy.Store(true)
			sending.Go(func() { r.show(ctx, l, at, list, sum) })
		}
	}
	return nil
}

// lookAgain reads what is true. A ledger that cannot be read leaves it as it was.
func (r *Reporter) lookAgain(ctx context.Context, at fleet.Instant) error {
	if r.o.History == nil {
		return nil
	}
	past, err := r.o.History.Past(ctx, at)
	if err != nil {
		return fmt.Errorf("cannot find what is still true: %w", err)
	}
	if past.Blind == "" && !past.Amnesia {
		r.shown = append(lost(r.shown, past), past.Alerts...)
	}
	return nil
}

// lost are the alerts of before whose rows could not be read: whether they ended
// is not known.
func lost(before []fleet.Alert, past fleet.Past) (out []fleet.Alert) {
	for _, a := range before {
		same := func(b fleet.Alert) bool { return b.AlertKey == a.AlertKey }
		if slices.Contains(past.Aside, a.Number) && !slices.ContainsFunc(past.Alerts, same) {
			out = append(out, a)
		}
	}
	return out
}

// lit are the alerts that are shown: what fires, and what ended lately.
func lit(all []fleet.Alert, at fleet.Instant) (out []fleet.Alert) {
	for _, a := range all {
		ended := a.Status == fleet.AlertResolved && !a.FiredAt.IsZero() && !a.EndedAt.IsZero() && !elapsed(at, a.EndedAt, afterglow)
		if a.Status == fleet.AlertFiring || ended {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b fleet.Alert) int { return compareKeys(a.AlertKey, b.AlertKey) })
	return out
}

func compareKeys(a, b fleet.AlertKey) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// imprint is a number that changes with what is shown. It is never 0.
func imprint(list []fleet.Alert) uint64 {
	h := fnv.New64a()
	for _, a := range list {
		fmt.Fprintf(h, "%s|%s|%s|%s|%s\n", a.AlertKey, a.Status, a.Priority, a.AckedBy, stamp(a.FiredAt))
	}
	return h.Sum64() | 1
}

func (l *looking) due(at fleet.Instant, sum uint64) bool {
	if l.busy.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.IsZero() || elapsed(at, l.at, l.m.Every()) || l.what != 0 && l.what != sum
}

func (r *Reporter) show(ctx context.Context, l *looking, at fleet.Instant, list []fleet.Alert, sum uint64) {
	defer l.busy.Store(false)
	err := r.showOnce(ctx, l.m, at, list)
	l.mu.Lock()
	l.at, l.what = at, sum
	if err != nil {
		l.what = 0 // it is shown again in its own time, not every few seconds
	}
	l.mu.Unlock()
	if ctx.Err() == nil {
		r.fail(err)
	}
}

func (r *Reporter) showOnce(ctx context.Context, m Mirror, at fleet.Instant, list []fleet.Alert) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot show %s the alerts: it panicked: %v", m.Name(), p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, r.o.Patience)
	defer cancel()
	if err := m.Show(ctx, at, list); err != nil {
		return fmt.Errorf("cannot show %s the alerts: %w", m.Name(), err)
	}
	return nil
}
