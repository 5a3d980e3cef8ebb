package control

import (
	"context"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/roles"
	"custos/internal/view"
)

// RoleBook is what custos.toml says of roles beside what they are, and what is looked up for them.
type RoleBook interface {
	// Policy is what calls of agents of a role are judged by, and the key that says so; "" each for none.
	Policy(role string) (name, key string)
	// Line is where a key of a role's section is said, as custos.toml:12; "" where it is not.
	Line(role, key string) string
	// Untold is why agents of a role cannot be given a first prompt; "" where they can.
	Untold(r fleet.Role) string
	// Context is what an agent of a role with that first prompt would be given: its standing instructions, the arguments that
	// name the file with them, and the prompt, which they stand before where there are no such arguments.
	Context(r fleet.Role, prompt string) (text string, args []string, with string, err error)
	// Unread is why the standing instructions of a role cannot be read; "" where they can, and where it has none.
	Unread(r fleet.Role) string
	// Gone is what of the place of a role is not there; "" for nothing.
	Gone(r fleet.Role) string
}

// roleFindings are looked at by anyone.
func roleFindings() Noun {
	return Noun{"role-findings", []Verb{{Name: "list", Do: asks((*Control).roleLint)}}}
}

func (c *Control) roleShown(ctx context.Context, call Call) (api.Role, error) {
	l, err := c.roleList(ctx, call)
	if err != nil {
		return api.Role{}, err
	}
	i := slices.IndexFunc(l.Roles, func(r api.Role) bool { return r.Name == call.ID })
	if i < 0 {
		return api.Role{}, missing("role", call.ID, each(l.Roles, func(r api.Role) string { return r.Name }), "custos role list")
	}
	if r := c.role(call.ID); r != nil {
		all, err := c.Registry(ctx)
		return roles.Whole(l.Roles[i], *r, c.RoleBook.Line, all, c.Budgets.Limits()), err
	}
	return l.Roles[i], nil
}

// roleView is a role with the policy that holds for it.
func (c *Control) roleView(r fleet.Role, configured bool, all []fleet.Registration) api.Role {
	v := view.Role(r, configured, all)
	v.Policy, v.PolicyFrom = c.RoleBook.Policy(r.Name)
	return v
}

// roleLint is what is wrong or doubtful with one role, or with all.
func (c *Control) roleLint(ctx context.Context, call Call) (api.RoleFindings, error) {
	one := call.Ask("role")
	if one != "" && c.role(one) == nil {
		return api.RoleFindings{}, c.unmade(ctx, "lint", one)
	}
	return roles.Lint(one, roles.World{Roles: c.Roles, Presets: c.Presets, Teams: c.Teams, Queues: c.Merges.Queues(), Untold: c.RoleBook.Untold, Gone: c.RoleBook.Gone, Unread: c.RoleBook.Unread, Line: c.RoleBook.Line}), nil
}
