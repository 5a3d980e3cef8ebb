// Package cacheprune is the action "docker-cache-prune": it has the engine remove the
// build cache that no build has used for a day. What a build uses now stays, and so do
// images, containers and volumes; what goes is made again by the next build.
package cacheprune

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

// Do is the name of the action.
const Do = "docker-cache-prune"

// deadline is for removing; many layers on a slow disk take minutes.
const deadline = 5 * time.Minute

// Engine is what the action asks of a container engine.
type Engine interface {
	Info(ctx context.Context) (engine.Info, error)
	Caches
}

// Caches are what may go.
type Caches interface {
	BuildCache(ctx context.Context, unused time.Duration) (engine.Cache, error)
	PruneCache(ctx context.Context, unused time.Duration) (freed int64, err error)
}

// Options hold what the action asks of the outside.
type Options struct {
	Engine Engine
	// Without says why there is no engine; "" when there is one.
	Without string
	// Allowed says that custos.toml lets the build cache of this engine go.
	Allowed bool
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) (*Action, error) {
	if o.Engine == nil && o.Without == "" {
		o.Without = "there is no container engine"
	}
	return &Action{o: o}, nil
}

// Ability implements act.Action. What was removed is gone: doing it twice does no harm.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartEngine, fleet.PartHost}, Deadline: fleet.Duration(deadline), Cannot: x.o.Without}
	if a.Cannot == "" && !x.o.Allowed {
		a.Cannot = "custos.toml does not say that the build cache of this engine may go: [containers] prune_cache = true"
	}
	return a
}

// Commands implements act.Action. How much may go stands in the finding.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Mount == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"docker", "builder", "prune", "--force", "--filter", "until=" + fleet.CacheUnused.String()},
		Note: "only build cache that no build has used for a day; no image, no volume"}}
}

// Prepare implements act.Action: it measures what would go, and that the engine
// keeps it on the file system that is to get emptier.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Mount == nil {
		return nil, errors.New("cannot prune the build cache: the target is no file system")
	}
	if x.o.Engine == nil {
		return nil, fmt.Errorf("cannot prune the build cache: %s", x.o.Without)
	}
	info, err := x.o.Engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	if !isUnder(info.Root, fleet.RawPath(a.Target.Mount.Path)) {
		return nil, fmt.Errorf("cannot prune the build cache: the engine keeps it in %q, which is not on %s: %w", fleet.Path(info.Root), a.Target.Mount.Path, act.ErrRefused)
	}
	r := &run{engine: x.o.Engine}
	if r.before, err = r.engine.BuildCache(ctx, fleet.CacheUnused); err != nil {
		return nil, err
	}
	if r.before.Count == 0 {
		return nil, fmt.Errorf("there is no build cache that was not used for a day: %w", act.ErrUnneeded)
	}
	return r, nil
}

func isUnder(path, dir string) bool {
	return path != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

// run is one pruning.
type run struct {
	engine Caches
	before engine.Cache
	freed  int64
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) (err error) {
	r.freed, err = r.engine.PruneCache(ctx, fleet.CacheUnused)
	return err
}

// Verify implements act.Run.
func (r *run) Verify(ctx context.Context) (string, error) {
	after, err := r.engine.BuildCache(ctx, fleet.CacheUnused)
	if err != nil {
		return "", fmt.Errorf("cannot show that the build cache is gone: %w", err)
	}
	gone := r.before.Count - after.Count
	if gone <= 0 {
		return "", fmt.Errorf("cannot show that build cache is gone: there were %d records and are %d", r.before.Count, after.Count)
	}
	return fmt.Sprintf("%d records of build cache that no build used for a day are gone; the engine freed %.1f MiB of at most %.1f MiB",
		gone, mib(r.freed), mib(r.before.Bytes)), nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Close implements act.Run.
func (r *run) Close() {}
