// Package checks is the probe of gates that wait for a command: it runs the command
// of each open one, in a process group of its own and with a limit of time, and
// notes whether it ended with 0. One that hangs is ended with its whole group, and
// what could not be run says nothing: such a gate stays as it is. Without such a
// gate it costs one question to the ledger.
package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/program"
)

// Times of checks. A look is over when the slowest is.
const (
	every    = 15 * time.Second
	deadline = 65 * time.Second // the longest that a check may take (a minute), and its end
	atOnce   = 4                // commands side by side
)

// maxOutput is how much a check may print: nobody reads it.
const maxOutput = 64 << 10

// Options is what the composition root knows.
type Options struct {
	// Gates lists the gates whose command is to be run; nil: there are none.
	Gates  func(ctx context.Context) ([]fleet.Gate, error)
	Now    func() fleet.Instant // needed
	Getenv func(string) string  // default os.Getenv; only PATH, HOME and LANG are asked for and passed on
}

// Probe runs the checks.
type Probe struct {
	o Options

	mu   sync.Mutex
	last map[string]answer // by gate
}

// New checks the options.
func New(o Options) (*Probe, error) {
	if o.Now == nil {
		return nil, errors.New("cannot run the commands of gates: no clock")
	}
	if o.Gates == nil {
		o.Gates = func(context.Context) ([]fleet.Gate, error) { return nil, nil }
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Probe{o: o, last: map[string]answer{}}, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "checks", Part: fleet.PartChecks, Every: every, Deadline: deadline}
}

// Look implements observe.Probe. Gates that are not due keep what their command
// said last.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	gates, err := p.o.Gates(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the gates: %w", err)
	}
	p.forget(gates)
	if len(gates) == 0 {
		return nil, fmt.Errorf("no open gate has a command: %w", observe.ErrAbsent)
	}
	p.ask(ctx, p.due(gates))
	facts := p.facts(gates)
	return func(s *fleet.Snapshot) { s.Checks.Value = append(s.Checks.Value, facts...) }, nil
}

// forget drops what is known of gates that are not open any more.
func (p *Probe) forget(gates []fleet.Gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.last {
		if !slices.ContainsFunc(gates, func(g fleet.Gate) bool { return g.ID == id }) {
			delete(p.last, id)
		}
	}
}

// due are the gates to be asked now, the one that has waited longest first.
func (p *Probe) due(gates []fleet.Gate) (due []fleet.Gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	for _, g := range gates {
		if last, known := p.last[g.ID]; !known || !now.Before(last.next) {
			due = append(due, g)
		}
	}
	slices.SortStableFunc(due, func(a, b fleet.Gate) int {
		return cmp.Compare(p.last[b.ID].waited(now), p.last[a.ID].waited(now))
	})
	return due
}

// ask runs the commands, a few at once, so that one that hangs holds up few. What
// could not have its whole time in this look is left to the next one.
func (p *Probe) ask(ctx context.Context, due []fleet.Gate) {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, atOnce)
	for _, g := range due {
		room <- struct{}{}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < time.Duration(g.Timeout) {
			return
		}
		wg.Go(func() {
			holds := p.holds(ctx, g)
			p.note(g, holds)
			<-room
		})
	}
}

// holds runs one command. Only an exit status is an answer.
func (p *Probe) holds(ctx context.Context, g fleet.Gate) fleet.Leaf[bool] {
	limited, cancel := context.WithTimeout(ctx, time.Duration(g.Timeout))
	defer cancel()
	_, err := program.Run(limited, program.Call{Argv: g.Check, Env: program.Environ(p.o.Getenv), Max: maxOutput})
	var exit *exec.ExitError
	switch {
	case err == nil:
		return fleet.Known(true)
	case limited.Err() != nil:
		return fleet.Unknown[bool](fmt.Sprintf("it took longer than %s", g.Timeout))
	case errors.As(err, &exit) && exit.Exited():
		return fleet.Known(false)
	}
	return fleet.Unknown[bool]("it could not be run: " + fleet.Redact(fleet.Line(err.Error(), 200)))
}

func (p *Probe) facts(gates []fleet.Gate) (out []fleet.GateCheck) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range gates {
		if last, known := p.last[g.ID]; known {
			out = append(out, fleet.GateCheck{Gate: g.ID, Holds: last.holds, At: last.at})
		}
	}
	return out
}
