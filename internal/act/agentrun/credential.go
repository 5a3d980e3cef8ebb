package agentrun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Credential is a secret that the agents of some roles are given as a variable, and no others. It is read
// anew at each start, and written down nowhere.
type Credential struct {
	Name  string
	Env   string   // the variable
	Roles []string // whose agents are given it
	Read  func(context.Context) (string, error)
}

// checkCredentials refuses a variable that would reach all agents, or that says how programs are run.
func checkCredentials(all []Credential, passEnv []string) error {
	for _, c := range all {
		switch {
		case slices.Contains(passEnv, c.Env):
			return fmt.Errorf("pass_env: %s is given by [credential.%s], to agents of its roles alone", c.Env, c.Name)
		case !settable.MatchString(c.Env):
			return fmt.Errorf("[credential.%s] env: %q is no variable: want A-Z, 0-9 and _", c.Name, fleet.Line(c.Env, 80))
		case steers(c.Env):
			return fmt.Errorf("[credential.%s] env: %s is not an agent's own to have", c.Name, c.Env)
		}
	}
	return nil
}

// credentials are those of a registration's role. A variable of another role is refused to it.
func (l *Launcher) credentials(r fleet.Registration) (mine []Credential, err error) {
	for _, c := range l.o.Credentials {
		if slices.Contains(c.Roles, r.Role) && r.Role != "" {
			mine = append(mine, c)
		}
	}
	for _, c := range l.o.Credentials {
		named := func(kv string) bool { name, _, _ := strings.Cut(kv, "="); return name == c.Env }
		given := slices.ContainsFunc(mine, func(m Credential) bool { return m.Env == c.Env })
		if !given && slices.ContainsFunc(slices.Concat(r.Env, r.Set), named) {
			return nil, Never("the variable %s is given to agents of role %s alone, by [credential.%s]", c.Env, strings.Join(c.Roles, ", "), c.Name)
		}
	}
	return mine, nil
}

// give reads the credentials of a start, and puts them into the environment of its agent.
func (b *Begin) give(ctx context.Context) error {
	for _, c := range b.credentials {
		secret, err := c.Read(ctx)
		if err != nil {
			return fmt.Errorf("cannot give it %s of [credential.%s]: %w", c.Env, c.Name, err)
		}
		b.Launch.Env = append(slices.DeleteFunc(b.Launch.Env, func(kv string) bool { return strings.HasPrefix(kv, c.Env+"=") }), c.Env+"="+secret)
	}
	return nil
}
