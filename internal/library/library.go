// Package library is what people and agents have written down to be run: formulas, plugins
// and schedules, as they are read from disk. It says of each whether it may be run, and why
// not; nothing of it is run here.
package library

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"custos/internal/config"
	"custos/internal/fleet"
)

// Library is all that can be run, read anew when its files change.
type Library struct {
	Code      *Code
	Formulas  *Formulas
	Schedules *Schedules
	Plugins   *Plugins
}

// Options are what the library must be told.
type Options struct {
	Kinds []string                                    // of agents
	Pins  func(context.Context) ([]fleet.Pins, error) // what a person said may be run
	Warn  func(msg string, args ...any)               // of what cannot be run
}

// New reads the sections [formulas], [grants], [schedule] and [plugins]. What they name is
// read when it is first asked for.
func New(cfg config.Config, o Options) (*Library, error) {
	l := &Library{Code: newCode(cfg, o.Pins)}
	var err error
	if l.Formulas, err = newFormulas(cfg, o.Kinds, l.Code); err != nil {
		return nil, err
	}
	if l.Schedules, err = newSchedules(cfg, l.Formulas, o.Warn); err != nil {
		return nil, err
	}
	l.Plugins, err = newPlugins(cfg, l.Formulas, o.Warn)
	return l, err
}

// Sections lists those of custos.toml that are read here.
func Sections() []string { return []string{"formulas", "grants", "plugins", "schedule"} }

// Due is what may run by itself now, formulas and plugins.
func (l *Library) Due(ctx context.Context, snap *fleet.Snapshot) fleet.RunPolicy {
	return l.Formulas.policy(slices.Concat(l.Schedules.All(ctx), l.Plugins.timed(ctx)), snap)
}

// mistake says at which key of custos.toml something is wrong.
func mistake(cfg config.Config, section, key string, err error) error {
	return fmt.Errorf("cannot read %s:%d: [%s] %s: %w", cfg.File, cfg.Line(section+"."+key), section, key, err)
}

// expand has a path of a key begin at the root.
func expand(cfg config.Config, section, key string, path *string) error {
	full, err := cfg.Expand(*path)
	if err != nil {
		return mistake(cfg, section, key, err)
	}
	*path = full
	return nil
}

// keys are those of a map, in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
