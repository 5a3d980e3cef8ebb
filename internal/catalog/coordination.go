package catalog

import (
	"errors"
	"fmt"
	"strings"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/beads"
)

// coordinationSection is the section [coordination]: who is told of work and convoys.
type coordinationSection struct {
	Watcher  string            `toml:"watcher"`  // of work that no agent has: an agent, role/ROLE, or overseer
	Watchers map[string]string `toml:"watchers"` // of single projects
	Convoys  []string          `toml:"convoys"`  // of convoys that name nobody
}

// Coordination reads the section.
func Coordination(cfg config.Config) (out fleet.CoordinationPolicy, err error) {
	var s coordinationSection
	if err := cfg.Section("coordination", &s); err != nil {
		return out, err
	}
	if s.Watcher != "" {
		err = address(s.Watcher)
	}
	for _, to := range s.Convoys {
		err = errors.Join(err, address(to))
	}
	for _, project := range sortedNames(s.Watchers) {
		err = errors.Join(err, address(s.Watchers[project]))
	}
	if err != nil {
		return out, cfg.Misread("coordination", err)
	}
	return fleet.CoordinationPolicy{Watcher: s.Watcher, Watchers: s.Watchers, Convoys: s.Convoys}, nil
}

// address says what is wrong with an address. Whether anybody is there is seen when
// something is told.
func address(to string) error {
	if to == "" || to == "role/" || fleet.Line(to, 200) != to || strings.HasPrefix(to, "@") {
		return fmt.Errorf("%q is no address such as builder, role/witness or overseer", fleet.Line(to, 80))
	}
	return nil
}

// newBeads is the probe of trackers of beads.
func newBeads(w *World) (observe.Probe, error) {
	return probe(w, "beads", beads.Options{Expand: w.Config.Expand, Now: w.Now, Getenv: w.Getenv}, beads.New)
}
