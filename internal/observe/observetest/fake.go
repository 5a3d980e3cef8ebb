// Package observetest holds the suite that every probe passes, and a probe that
// does what a test tells it to.
package observetest

import (
	"context"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
)

// Fake is a probe whose every look is the test's. The zero Fake sees nothing
// and says that there is nothing.
type Fake struct {
	Of    observe.Spec
	Do    func(ctx context.Context) (observe.Put, error)
	To    func() time.Duration // what Again says after each look; nil says nothing
	Still bool                 // what Calm says

	looks atomic.Int64
}

// Spec returns Of.
func (f *Fake) Spec() observe.Spec { return f.Of }

// Again returns what To does.
func (f *Fake) Again() time.Duration {
	if f.To == nil {
		return 0
	}
	return f.To()
}

// Calm returns Still.
func (f *Fake) Calm() bool { return f.Still }

// Look counts, then does what Do does; without Do the thing is absent.
func (f *Fake) Look(ctx context.Context) (observe.Put, error) {
	f.looks.Add(1)
	if f.Do == nil {
		return nil, observe.ErrAbsent
	}
	return f.Do(ctx)
}

// Looks returns how many looks have begun.
func (f *Fake) Looks() int { return int(f.looks.Load()) }

// Facts returns a Put that appends extra facts with these names.
func Facts(names ...string) observe.Put {
	return func(s *fleet.Snapshot) {
		for _, name := range names {
			s.Extra.Value = append(s.Extra.Value, fleet.Extra{Name: name, Probe: "fake"})
		}
	}
}
