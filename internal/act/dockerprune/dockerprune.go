// Package dockerprune is the action "docker-prune": it has the engine remove the
// images that no name leads to and that no container was made of. Never one with
// a name, never a container, never a volume: those may hold what cannot be made
// again.
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

// Do is the name of the action.
const Do = "docker-prune"

// deadline is for removing; many layers on a slow disk take minutes.
const deadline = 5 * time.Minute

// Engine is what the action asks of a container engine.
type Engine interface {
	Info(ctx context.Context) (engine.Info, error)
	Images
}

// Images are what may go.
type Images interface {
	List(ctx context.Context) ([]engine.Container, error)
	Dangling(ctx context.Context, used map[string]bool) (engine.Images, error)
	Prune(ctx context.Context) (freed int64, err error)
}

// Options hold what the action asks of the outside.
type Options struct {
	Engine Engine
	// Without says why there is no engine; "" when there is one.
	Without string
	// Allowed says that custos.toml lets images of this engine go.
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
		a.Cannot = "custos.toml does not say that images of this engine may go: [containers] prune = true"
	}
	return a
}

// Commands implements act.Action. How much may go stands in the finding.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Mount == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"docker", "image", "prune", "--force"},
		Note: "only images without a name that no container was made of; no volume"}}
}

// Prepare implements act.Action: it measures what would go, and that the engine
// keeps it on the file system that is to get emptier.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Mount == nil {
		return nil, errors.New("cannot prune images: the target is no file system")
	}
	if x.o.Engine == nil {
		return nil, fmt.Errorf("cannot prune images: %s", x.o.Without)
	}
	info, err := x.o.Engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	if !under(info.Root, fleet.RawPath(a.Target.Mount.Path)) {
		return nil, fmt.Errorf("cannot prune images: the engine keeps them in %q, which is not on %s: %w", fleet.Path(info.Root), a.Target.Mount.Path, act.ErrRefused)
	}
	r := &run{engine: x.o.Engine}
	if r.before, err = r.measure(ctx); err != nil {
		return nil, err
	}
	if r.before.Count == 0 {
		return nil, fmt.Errorf("there is no image without a name and a use: %w", act.ErrUnneeded)
	}
	return r, nil
}

func under(path, dir string) bool {
	return path != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

// run is one pruning.
type run struct {
	engine Images
	before engine.Images
	freed  int64
}

func (r *run) measure(ctx context.Context) (engine.Images, error) {
	rows, err := r.engine.List(ctx)
	if err != nil {
		return engine.Images{}, err
	}
	used := map[string]bool{}
	for _, c := range rows {
		used[c.ImageID] = true
	}
	return r.engine.Dangling(ctx, used)
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) (err error) {
	r.freed, err = r.engine.Prune(ctx)
	return err
}

// Verify implements act.Run.
func (r *run) Verify(ctx context.Context) (string, error) {
	after, err := r.measure(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot show that the images are gone: %w", err)
	}
	gone := r.before.Count - after.Count
	if gone <= 0 {
		return "", fmt.Errorf("cannot show that images are gone: there were %d and are %d", r.before.Count, after.Count)
	}
	return fmt.Sprintf("gone: %s that nothing named or used; the engine freed %.1f MiB of at most %.1f MiB",
		fleet.Counted(int(gone), "image"), mib(r.freed), mib(r.before.Bytes)), nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Close implements act.Run.
func (r *run) Close() {}
