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
	From  string   // the variable of Custos' own that it is in; "" where it is elsewhere
	Roles []string // whose agents are given it
	Read  func(context.Context) (string, error)
}

// CheckVariable refuses a variable that a credential is not to be in: one that says how programs are run
// would be no secret.
func CheckVariable(name string) error {
	secret := slices.ContainsFunc(secretive, func(part string) bool { return strings.Contains(name, part) })
	switch {
	case !settable.MatchString(name):
		return fmt.Errorf("%q is no variable: want A-Z, 0-9 and _", fleet.Line(name, 80))
	case !secret || steers(name) || strings.HasPrefix(name, "CUSTOS_") || strings.HasPrefix(name, "GIT_"):
		return fmt.Errorf("want a name of a secret, which has one of %s in it, and not %s", strings.Join(secretive, ", "), name)
	}
	return nil
}

// checkCredentials refuses what would reach all agents.
func checkCredentials(all []Credential, passEnv []string) error {
	for _, c := range all {
		for _, name := range []string{c.Env, c.From} {
			if name != "" && slices.Contains(passEnv, name) {
				return fmt.Errorf("pass_env: %s is of [credential.%s], which agents of its roles alone are given", name, c.Name)
			}
		}
	}
	return nil
}

// credentials are those of a registration's role. A variable of another role is refused to it; and what an
// agent has asked for is given none: whoever chooses role and program would have them all.
func (l *Launcher) credentials(r fleet.Registration) (mine []Credential, err error) {
	for _, c := range l.o.Credentials {
		if slices.Contains(c.Roles, r.Role) && r.Role != "" {
			mine = append(mine, c)
		}
	}
	_, byAgent := fleet.AgentOf(r.DesiredBy)
	if len(mine) > 0 && (byAgent || r.Parent != "" && r.Parent != fleet.Overseer && r.DesiredBy != "" && !fleet.IsPerson(r.DesiredBy)) {
		return nil, Never("agents of role %s are given [credential.%s], and this one was asked for by an agent: a person has to start it", fleet.Line(r.Role, 40), mine[0].Name)
	}
	for _, c := range l.o.Credentials {
		named := func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			given := slices.ContainsFunc(mine, func(m Credential) bool { return m.Env == name })
			return name == c.Env && !given || name == c.From && name != ""
		}
		if slices.ContainsFunc(slices.Concat(r.Env, r.Set), named) {
			return nil, Never("agents of role %s alone are given [credential.%s]: nobody names %s for an agent", strings.Join(c.Roles, ", "), c.Name, strings.Join(slices.DeleteFunc([]string{c.Env, c.From}, func(s string) bool { return s == "" }), " or "))
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
