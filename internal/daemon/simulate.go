package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/scenario"
	"custos/internal/simulate"
)

// Simulate tells the stories of a file (docs/simulate.md): what is thought and planned
// at each of their moments, by the rules and the policy of cfg, or of the custos.toml in
// the file. It looks at nothing of this machine and does nothing; what it remembers from
// moment to moment it keeps in a folder that it removes.
func Simulate(ctx context.Context, cfg config.Config, o Options, name string, text []byte) (out api.Simulation, err error) {
	told, err := scenario.Read(name, text, "")
	if err != nil {
		return out, &config.Mistake{Err: err}
	}
	if told.Config != nil {
		if cfg, err = configOf(told, cfg); err != nil {
			return out, err
		}
	}
	dir, err := os.MkdirTemp("", "custos-simulate-")
	if err != nil {
		return out, fmt.Errorf("cannot simulate: %w", err)
	}
	defer os.RemoveAll(dir)
	cfg.Active = ""
	cfg.StateDir, cfg.RuntimeDir, cfg.JournalDir = dir, filepath.Join(dir, "run"), filepath.Join(dir, "journal")
	s, err := build(cfg, o, as{what: "simulate", every: cfg.PatrolEvery, tell: o.Stderr})
	if err != nil {
		return out, err
	}
	out = api.Simulation{File: name, Stories: []api.SimulatedStory{}, Missed: []api.SimulatedMissed{}}
	w := simulate.World{Rules: s.rules, Kinds: s.world.Kinds, Policy: s.likeDaemon(), Holds: s.holds,
		Known: scenario.Known{Rules: s.rules.Names(), Actions: catalog.ActionNames()}}
	for i, story := range told.Stories {
		if err := w.Play(ctx, filepath.Join(dir, fmt.Sprint(i), "custos.db"), story, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// configOf reads the custos.toml of a file of stories. Where things lie is as in cfg.
func configOf(f scenario.File, cfg config.Config) (config.Config, error) {
	read := func(string) ([]byte, error) { return f.Config, nil }
	getenv := func(name string) string {
		if name == "HOME" {
			return cfg.Home
		}
		return ""
	}
	return config.Load(config.Options{File: f.Name, Getenv: getenv, ReadFile: read, Sections: Sections()})
}

// likeDaemon is the policy of a daemon here; what this machine cannot do does not count.
func (s *system) likeDaemon() fleet.Policy {
	p := s.policy(fleet.PatrolOrder{})
	able := make(map[string]fleet.Ability, len(p.Abilities))
	for do, a := range p.Abilities {
		a.Cannot, a.Needs = "", ""
		able[do] = a
	}
	p.Abilities, p.Handoff, p.Pools = able, s.handoff, s.workers.Pools
	return p
}
