package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"custos/internal/act/agentrun"
	"custos/internal/config"
	"custos/internal/nearest"
	"custos/internal/observe/agents"
	"custos/internal/policy"
	"custos/internal/policy/source"
)

// Policies are what agents' calls of tools are judged by.
type Policies struct {
	All   map[string]policy.Policy // those of custos.toml, and those that come with Custos
	every string                   // of agents whose role names none
	roles map[string]string
}

// Of is the policy of a role; "" for none.
func (p Policies) Of(role string) string {
	return cmp.Or(p.roles[role], p.roles["*"], p.every)
}

// named is the policy of a role, and whether it has one.
func (p Policies) named(role string) (policy.Policy, bool) {
	of, ok := p.All[p.Of(role)]
	return of, ok
}

// ReadPolicies reads the sections [policy.NAME], and which role has which. One that is named
// and is not there is a mistake.
func ReadPolicies(cfg config.Config) (p Policies, err error) {
	if p.All, err = source.Of(cfg); err != nil {
		return p, err
	}
	var o agents.Options
	if err := cfg.Section("agents", &o); err != nil {
		return p, err
	}
	p.every, p.roles = o.Policy, map[string]string{}
	if err := p.known(o.Policy); err != nil {
		return p, cfg.Misread("agents.policy", err)
	}
	for _, role := range slices.Sorted(maps.Keys(o.Roles)) {
		name := o.Roles[role].Policy
		if err := p.known(name); err != nil {
			return p, cfg.Misread("agents.roles."+role+".policy", err)
		}
		p.roles[role] = name
	}
	return p, nil
}

func (p Policies) known(name string) error {
	if _, ok := p.All[name]; ok || name == "" {
		return nil
	}
	return fmt.Errorf("there is no policy %q%s", name, nearest.Choice(name, slices.Sorted(maps.Keys(p.All))))
}

// PolicyPlaces are what lies where for an agent that stands in a folder.
func PolicyPlaces(cfg config.Config, home, dir string) policy.Places {
	return agentrun.Places(dir, home, ownFolders(cfg))
}

// ownFolders are those that are Custos's own.
func ownFolders(cfg config.Config) []string {
	return []string{cfg.StateDir, cfg.RuntimeDir, filepath.Dir(cfg.File)}
}
