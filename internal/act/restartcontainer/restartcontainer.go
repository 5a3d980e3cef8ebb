// Package restartcontainer is the action "restart-container": it has the engine
// restart one container of ours, in the very run and state in which it was seen
// (down, unhealthy, or not doing what another rule expects of it), and measures
// that it runs and stays up.
package restartcontainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

// Do is the name of the action.
const Do = "restart-container"

// deadline is for the stop (a container may have minutes for it) and for the
// measuring, each.
const deadline = 2 * time.Minute

// Engine is what the action asks of a container engine.
type Engine interface {
	Inspect(ctx context.Context, id string) (engine.Detail, error)
	Restart(ctx context.Context, id string) error
}

// Options hold what the action asks of the outside.
type Options struct {
	Engine Engine
	// Without says why there is no engine; "" when there is one.
	Without string
	// Inside says whether Custos itself runs in the container of an ID: default
	// is to look in /proc/self/mountinfo.
	Inside func(id string) (bool, error)
	// Settle is how long a container without a health check must stay up. Default 5s.
	Settle time.Duration
	// Look is the time between two looks while it is measured. Default 500ms.
	Look time.Duration
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) (*Action, error) {
	if o.Engine == nil && o.Without == "" {
		o.Without = "there is no container engine"
	}
	if o.Inside == nil {
		o.Inside = inside
	}
	if o.Settle <= 0 {
		o.Settle = 5 * time.Second
	}
	if o.Look <= 0 {
		o.Look = 500 * time.Millisecond
	}
	return &Action{o: o}, nil
}

// Ability implements act.Action. A container that was restarted is another run
// of it, which is left alone: so doing it twice does no harm.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartEngine}, Deadline: fleet.Duration(deadline), Cannot: x.o.Without}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	c := a.Target.Container
	if c == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"docker", "restart", c.ID},
		Note: c.Name + ", only while it is in the run and the state in which it was seen"}}
}

// Prepare implements act.Action: it asks the engine about the container again.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	c := a.Target.Container
	switch {
	case c == nil:
		return nil, errors.New("cannot restart the container: the target is no container")
	case x.o.Engine == nil:
		return nil, fmt.Errorf("cannot restart the container: %s", x.o.Without)
	case !c.Owner.MayTouch():
		return nil, fmt.Errorf("cannot restart the container: it is not ours: %w", act.ErrRefused)
	case c.ID == "":
		return nil, fmt.Errorf("cannot restart the container: there is none of this name: %w", act.ErrRefused)
	}
	r := &run{o: x.o, seen: *c}
	was, err := r.check(ctx)
	if err != nil {
		return nil, err
	}
	r.was = was
	return r, nil
}
