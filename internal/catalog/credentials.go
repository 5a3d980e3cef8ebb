package catalog

import (
	"errors"
	"fmt"
	"slices"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
)

// credentialSection is the section [credential.NAME].
type credentialSection struct {
	Env          string   `toml:"env" is:"name"`        // the variable that it is given as
	Roles        []string `toml:"roles" is:"name"`      // whose agents it is given to
	TokenFile    string   `toml:"token_file" is:"path"` // exactly one of these three: where it is
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`
}

// credentials reads the sections [credential.NAME], in the order of their names.
func (w *World) credentials() (out []agentrun.Credential, err error) {
	sections := map[string]credentialSection{}
	if err := w.Config.Section("credential", &sections); err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range sortedNames(sections) {
		c, err := sections[name].credential(w, name)
		if err == nil {
			err = alone(out, c)
		}
		if err != nil {
			wrong = append(wrong, w.Config.Misread("credential."+name, err))
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(wrong...)
}

func (s credentialSection) credential(w *World, name string) (agentrun.Credential, error) {
	c := agentrun.Credential{Name: fleet.Line(name, 40), Env: s.Env, From: s.TokenEnv, Roles: s.Roles}
	switch {
	case s.Env == "":
		return c, errors.New(`env: want the variable that it is given as, like "FORGE_TOKEN"`)
	case len(s.Roles) == 0 || slices.Contains(s.Roles, ""):
		return c, errors.New("roles: want those whose agents are given it: nobody else is")
	}
	if err := agentrun.CheckVariable(s.Env); err != nil {
		return c, fmt.Errorf("env: %w", err)
	}
	var key string
	var err error
	if c.Read, key, err = w.token(s.TokenFile, s.TokenCommand, s.TokenEnv); err != nil {
		return c, fmt.Errorf("%s: %w", key, err)
	}
	return c, nil
}

// alone refuses a variable that a role is given twice.
func alone(all []agentrun.Credential, c agentrun.Credential) error {
	for _, other := range all {
		for _, role := range c.Roles {
			if other.Env == c.Env && slices.Contains(other.Roles, role) {
				return fmt.Errorf("env: agents of role %s are given %s by [credential.%s] already", fleet.Line(role, 40), c.Env, other.Name)
			}
		}
	}
	return nil
}
