package catalog

import (
	"fmt"
	"maps"
	"slices"

	"custos/internal/config"
	"custos/internal/fleet"
)

// heartbeat is one section [heartbeat.NAME]: who has promised to show that it is
// at work, and how often.
type heartbeat struct {
	Agent string `toml:"agent" is:"name"` // by name
	Role  string `toml:"role"`            // or all of a role
	Every string `toml:"every" is:"duration 1ms.."`
	Grace string `toml:"grace" is:"duration"` // on top of it; half of it by default
}

// readContracts reads the sections, by name.
func readContracts(cfg config.Config) ([]fleet.Contract, error) {
	var all map[string]heartbeat
	if err := cfg.Section("heartbeat", &all); err != nil {
		return nil, err
	}
	var out []fleet.Contract
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c, key, err := all[name].contract(name)
		if err != nil {
			line := max(cfg.Line("heartbeat."+name+"."+key), cfg.Line("heartbeat."+name))
			return nil, fmt.Errorf("cannot read %s:%d: [heartbeat.%s] %w", cfg.File, line, name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// contract returns the contract, or which key is wrong.
func (h heartbeat) contract(name string) (c fleet.Contract, key string, err error) {
	c = fleet.Contract{Name: name, Agent: h.Agent, Role: h.Role}
	if (h.Agent == "") == (h.Role == "") {
		return c, "agent", fmt.Errorf("want agent or role: whose heartbeat it is")
	}
	every, err := config.Duration(h.Every)
	if err != nil || every <= 0 {
		return c, "every", fmt.Errorf("every: %q is no duration such as 10m", h.Every)
	}
	grace := every / 2
	if h.Grace != "" {
		if grace, err = config.Duration(h.Grace); err != nil || grace < 0 {
			return c, "grace", fmt.Errorf("grace: %q is no duration such as 5m", h.Grace)
		}
	}
	c.Heartbeat = fleet.Heartbeat{Every: fleet.Duration(every), Grace: fleet.Duration(grace)}
	return c, "", nil
}
