package catalog

import (
	"context"
	"sync"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// shared is how old an answer may be that several probes ask for at once.
const shared = time.Second

// lately keeps the registrations as they were read last, for shared, or until World.Forget.
// Probes only: who acts asks the ledger.
type lately struct {
	mu   sync.Mutex
	at   time.Time // zero: they are to be read
	regs []fleet.Registration
}

func (l *lately) forget() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

// detected keeps who was found in a process table: several probes look at the same one.
type detected struct {
	mu    sync.Mutex
	procs []fleet.Process
	runs  []agent.Run
}

// in returns who is found in procs, which nobody changes any more. The slice is shared: the caller
// must not change it.
func (d *detected) in(procs []fleet.Process, kinds *agent.Kinds) []agent.Run {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(procs) == 0 || len(procs) != len(d.procs) || &procs[0] != &d.procs[0] {
		d.procs, d.runs = procs, agent.Detect(kinds, procs)
	}
	return d.runs
}

// registeredLately is Registered for probes. Those that look together read the ledger once.
// The slice is shared: the caller must not change it.
func (w *World) registeredLately(ctx context.Context) ([]fleet.Registration, error) {
	l := w.lately
	if w.Registered == nil {
		return nil, nil
	}
	if l == nil {
		return w.Registered(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < shared {
		return l.regs, nil
	}
	regs, err := w.Registered(ctx)
	if err == nil {
		l.regs, l.at = regs, time.Now()
	}
	return regs, err
}
