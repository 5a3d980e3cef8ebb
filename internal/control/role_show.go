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
	// Gone is what of the place of a role is not there; "" for nothing.
	Gone(r fleet.Role) string
}

// roleFindings are looked at by anyone.
func roleFindings() Noun {
	return Noun{"role-findings", []Verb{{Name: "list", Do: asks((*Control).roleLint)}}}
}

func (c *Control) roleShown(ctx context.Context, call Call) (api.Role, error) {
	all, err := c.Registry(ctx)
	if err != nil {
		return api.Role{}, err
	}
	if r := c.role(call.ID); r != nil {
		return roles.Whole(c.roleView(*r, true, all), *r, c.RoleBook.Line, all, c.Budgets.Limits()), nil
	}
	if p := fleet.Find(c.Presets, func(p *fleet.Role) bool { return p.Name == call.ID }); p != nil {
		return c.roleView(*p, false, all), nil
	}
	names := slices.Concat(each(c.Roles, roleName), each(c.Presets, roleName))
	slices.Sort(names)
	return api.Role{}, missing("role", call.ID, slices.Compact(names), "custos role list")
}

func roleName(r fleet.Role) string { return r.Name }

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
		_, err := c.roleShown(ctx, Call{ID: one})
		if err == nil {
			err = presetOnly("lint role "+one, one)
		}
		return api.RoleFindings{}, err
	}
	return roles.Lint(one, roles.World{Roles: c.Roles, Presets: c.Presets, Teams: c.Teams, Queues: c.Merges.Queues(), Untold: c.RoleBook.Untold, Gone: c.RoleBook.Gone, Line: c.RoleBook.Line}), nil
}
