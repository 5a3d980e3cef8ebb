// Package plugins is the probe of the gates of plugins that a command opens: it
// runs each such command, in a process group of its own and with a limit of time,
// and notes whether it ended with 0. What could not be run, or took too long, is
// unknown, and opens no gate. How a plugin itself is run is no matter of a probe.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/program"
)

// Times of checks. A look is over when the slowest is.
const (
	every    = 30 * time.Second
	deadline = 65 * time.Second // the longest that a check may take (a minute), and its end
)

// maxOutput is how much of what a check prints is kept: nobody reads it.
const maxOutput = 64 << 10

// Options is what the composition root knows.
type Options struct {
	// Checks lists the commands; nil: there are none.
	Checks func(ctx context.Context) []fleet.PluginCheck
	Now    func() fleet.Instant // needed
	Getenv func(string) string  // default os.Getenv
}

// Probe runs the checks.
type Probe struct{ o Options }

// New checks the options.
func New(o Options) (*Probe, error) {
	if o.Now == nil {
		return nil, errors.New("cannot look at the gates of plugins: no clock")
	}
	if o.Checks == nil {
		o.Checks = func(context.Context) []fleet.PluginCheck { return nil }
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Probe{o}, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "plugins", Part: fleet.PartChecks, Every: every, Deadline: deadline}
}

// Look implements observe.Probe. The checks are run side by side, so that one that
// hangs holds up no other one.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	list := p.o.Checks(ctx)
	if len(list) == 0 {
		return nil, fmt.Errorf("no plugin has a check: %w", observe.ErrAbsent)
	}
	facts := make([]fleet.GateCheck, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		wg.Go(func() { facts[i] = fleet.GateCheck{Gate: c.Formula, Holds: p.holds(ctx, c), At: p.o.Now()} })
	}
	wg.Wait()
	return func(s *fleet.Snapshot) { s.Checks.Value = append(s.Checks.Value, facts...) }, nil
}

// holds runs one check. Only an exit status is an answer.
func (p *Probe) holds(ctx context.Context, c fleet.PluginCheck) fleet.Leaf[bool] {
	limited, cancel := context.WithTimeout(ctx, time.Duration(c.Timeout))
	defer cancel()
	_, err := program.Run(limited, program.Call{Argv: c.Argv, Dir: c.Dir, Env: program.Environ(p.o.Getenv, c.Env...), Max: maxOutput})
	var exit *exec.ExitError
	switch {
	case err == nil:
		return fleet.Known(true)
	case limited.Err() != nil:
		return fleet.Unknown[bool](fmt.Sprintf("its check took longer than %s", c.Timeout))
	case errors.As(err, &exit) && exit.Exited():
		return fleet.Known(false)
	}
	return fleet.Unknown[bool]("its check could not be run: " + fleet.Redact(fleet.Line(err.Error(), 200)))
}
