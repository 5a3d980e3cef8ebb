package catalog

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"custos/internal/act/agentrun"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/nearest"
	"custos/internal/observe/agents"
	"custos/internal/policy"
	"custos/internal/policy/source"
)

// Policies are what agents' calls of tools are judged by.
type Policies struct {
	All   map[string]policy.Policy // those of custos.toml, and those that come with Custos
	every policySaid               // of agents whose role names none
	roles map[string]policySaid
}

// policySaid is a policy that a key of custos.toml names.
type policySaid struct{ policy, key string }

// Of is the policy of a role; "" for none.
func (p Policies) Of(role string) string {
	name, _ := p.From(role)
	return name
}

// From is the policy of a role, and the key of custos.toml that says so; "" each for none.
func (p Policies) From(role string) (name, key string) {
	for _, s := range []policySaid{p.roles[role], p.roles["*"], p.every} {
		if s.policy != "" {
			return s.policy, s.key
		}
	}
	return "", ""
}

// named is the policy of a role, and whether it has one.
func (p Policies) named(role string) (policy.Policy, bool) {
	of, ok := p.All[p.Of(role)]
	return of, ok
}

// ReadPolicies reads the sections [policy.NAME], and which role has which. One that is named
// and is not there is a mistake, and so is what is said of one role in two places.
func ReadPolicies(cfg config.Config) (p Policies, err error) {
	if p.All, err = source.Of(cfg); err != nil {
		return p, err
	}
	var o agents.Options
	if err := cfg.Section("agents", &o); err != nil {
		return p, err
	}
	roles := map[string]roleSection{}
	if err := cfg.Section("role", &roles); err != nil {
		return p, err
	}
	p.every, p.roles = policySaid{o.Policy, "agents.policy"}, map[string]policySaid{}
	wrong := []error{p.known(cfg, p.every)}
	for _, role := range slices.Sorted(maps.Keys(o.Roles)) {
		wrong = append(wrong, p.say(cfg, role, policySaid{o.Roles[role].Policy, "agents.roles." + role + ".policy"}))
	}
	for _, role := range sortedNames(roles) {
		wrong = append(wrong, p.say(cfg, role, policySaid{roles[role].Policy, "role." + role + ".policy"}))
	}
	return p, errors.Join(wrong...)
}

// say takes the policy of a role, which one key alone may name.
func (p Policies) say(cfg config.Config, role string, s policySaid) error {
	if s.policy == "" {
		return nil
	}
	if before, twice := p.roles[role]; twice {
		return cfg.Misread(s.key, fmt.Errorf("[agents.roles.%s] says %q of the same agents: say it in one of the two", fleet.Line(role, 40), fleet.Line(before.policy, 40)))
	}
	p.roles[role] = s
	return p.known(cfg, s)
}

func (p Policies) known(cfg config.Config, s policySaid) error {
	if _, ok := p.All[s.policy]; ok || s.policy == "" {
		return nil
	}
	return cfg.Misread(s.key, fmt.Errorf("there is no policy %q%s", fleet.Line(s.policy, 40), nearest.Choice(s.policy, slices.Sorted(maps.Keys(p.All)))))
}

// PolicyPlaces are what lies where for an agent that stands in a folder.
func PolicyPlaces(cfg config.Config, home, dir string) policy.Places {
	return agentrun.Places(dir, home, ownFolders(cfg))
}

// ownFolders are those that are Custos's own.
func ownFolders(cfg config.Config) []string {
	return []string{cfg.StateDir, cfg.RuntimeDir, filepath.Dir(cfg.File)}
}
