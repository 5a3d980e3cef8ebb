package catalog

// RoleBook is what custos.toml says of roles beside their own sections.
type RoleBook struct{ Policies Policies }

// Policy is what calls of agents of a role are judged by, and the key of custos.toml that says so; "" each
// for none.
func (b RoleBook) Policy(role string) (name, key string) { return b.Policies.From(role) }
