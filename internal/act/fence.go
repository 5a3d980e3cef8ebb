package act

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"custos/internal/fleet"
)

// lapsed says why the action may not be done by its lease any more; "" while it may, or where
// it is done by none. To begin what is not fenced where it is done takes two thirds of the lease.
func (p *performance) lapsed(begins bool) (why string) {
	if p.Fence == nil {
		return ""
	}
	err := safely(func() error { why = p.opts.Lease(*p.Fence, begins && !p.able.Fenced); return nil })
	if err != nil {
		return "it cannot be told whether this host holds its lease: " + reason(err)
	}
	return why
}

// fence counts what was written to servers by a lease.
type fence struct {
	mu     sync.Mutex
	passed int
	why    string // why a write was refused, the first time
}

// fenced has each write to a server ask for the lease, at the instant of the write: who was
// stopped for a minute writes nothing on waking that is another's by now.
func (p *performance) fenced(ctx context.Context, f *fence) context.Context {
	if p.Fence == nil {
		return ctx
	}
	return p.opts.Fenced(ctx, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if why := p.lapsed(false); why != "" && f.why == "" {
			f.why = why
		}
		if f.why != "" {
			return fmt.Errorf("%s: %w", f.why, ErrRefused)
		}
		f.passed++
		return nil
	})
}

// isFenced says whether the ledger knows that the lease has passed on.
func isFenced(err error) bool {
	var f interface{ Fenced() bool }
	return errors.As(err, &f) && f.Fenced()
}

func (f *fence) refused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why != ""
}

// endFenced ends what was refused in the middle: of what was written before that it is not known
// what another host has made of it.
func (p *performance) endFenced(f *fence) {
	if f.passed > 0 {
		p.end(fleet.ResultInDoubt, fmt.Sprintf("after %s: %s", fleet.Counted(f.passed, "write"), f.why))
		return
	}
	p.end(fleet.ResultRefused, f.why)
}
