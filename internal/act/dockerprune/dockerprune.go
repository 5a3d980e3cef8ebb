// Package dockerprune holds the actions "docker-prune" and "docker-cache-prune": they have
// the engine remove what is made again when it is needed. The first removes the images
// that no name leads to and that no container was made of; the second the build cache
// that no build has used for a day, and that none uses now. Neither ever removes an image
// with a name, a container or a volume: those may hold what cannot be made again.
package dockerprune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

// The names of the actions.
const (
	Do      = "docker-prune"
	DoCache = "docker-cache-prune"
)

// deadline is for removing; many layers on a slow disk take minutes.
const deadline = 5 * time.Minute

// Engine is what the actions ask of a container engine.
type Engine interface {
	Info(ctx context.Context) (engine.Info, error)
	images
	caches
}

// Options hold what the actions ask of the outside.
type Options struct {
	Engine Engine
	// Without says why there is no engine; "" when there is one.
	Without string
	// Allowed says that custos.toml lets the things of this engine go.
	Allowed bool
}

// things are what one of the actions removes.
type things struct {
	do      string
	what    string // "images"
	cannot  string // what custos.toml does not say
	argv    []string
	note    string
	none    string // said where there is nothing to remove
	effect  func(count int64) string
	measure func(context.Context, Engine) (count, bytes int64, err error)
	prune   func(context.Context, Engine) (freed int64, err error)
}

// Action implements act.Action.
type Action struct {
	things
	o Options
}

func newAction(t things, o Options) (*Action, error) {
	if o.Engine == nil && o.Without == "" {
		o.Without = "there is no container engine"
	}
	return &Action{t, o}, nil
}

// Ability implements act.Action. What was removed is gone: doing it twice does no harm.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: x.do, Idempotent: true, Touches: []fleet.PartName{fleet.PartEngine, fleet.PartHost}, Deadline: fleet.Duration(deadline), Cannot: x.o.Without}
	if a.Cannot == "" && !x.o.Allowed {
		a.Cannot = x.cannot
	}
	return a
}

// Commands implements act.Action. How much may go stands in the finding.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Mount == nil {
		return nil
	}
	return []fleet.Command{{Argv: x.argv, Note: x.note}}
}

// Prepare implements act.Action: it measures what would go, and that the engine
// keeps it on the file system that is to get emptier.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Mount == nil {
		return nil, x.failed(errors.New("the target is no file system"))
	}
	if x.o.Engine == nil {
		return nil, x.failed(errors.New(x.o.Without))
	}
	info, err := x.o.Engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	if !isUnder(info.Root, fleet.RawPath(a.Target.Mount.Path)) {
		return nil, x.failed(fmt.Errorf("the engine keeps its files in %q, which is not on %s: %w", fleet.Path(info.Root), a.Target.Mount.Path, act.ErrRefused))
	}
	r := &run{x: x}
	if r.count, r.bytes, err = x.measure(ctx, x.o.Engine); err != nil {
		return nil, err
	}
	if r.count == 0 {
		return nil, fmt.Errorf("%s: %w", x.none, act.ErrUnneeded)
	}
	return r, nil
}

func (x *Action) failed(err error) error { return fmt.Errorf("cannot prune %s: %w", x.what, err) }

func isUnder(path, dir string) bool {
	return path != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

// run is one pruning.
type run struct {
	x                   *Action
	count, bytes, freed int64
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) (err error) {
	r.freed, err = r.x.prune(ctx, r.x.o.Engine)
	return err
}

// Verify implements act.Run.
func (r *run) Verify(ctx context.Context) (string, error) {
	after, _, err := r.x.measure(ctx, r.x.o.Engine)
	if err != nil {
		return "", fmt.Errorf("cannot show that any %s are gone: %w", r.x.what, err)
	}
	gone := r.count - after
	if gone <= 0 {
		return "", fmt.Errorf("cannot show that any %s are gone: there were %d and are %d", r.x.what, r.count, after)
	}
	return fmt.Sprintf("%s; the engine freed %.1f MiB of at most %.1f MiB", r.x.effect(gone), mib(r.freed), mib(r.bytes)), nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Close implements act.Run.
func (r *run) Close() {}
