package work

import (
	"cmp"
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// inRole is what the address of all agents of a role begins with.
const inRole = "role/"

// listeners are told of a piece of work: the agent that has it, else whoever
// watches its project, else people.
func (c *pass) listeners(s ledger.Seen) []string {
	if to := ledger.AddressOf(s.Agent); s.Agent != "" && c.reads(to) {
		return []string{to}
	}
	policy := c.policy.Coordination
	watcher := cmp.Or(policy.Watchers[s.Project], policy.Watcher)
	if role, ok := strings.CutPrefix(watcher, inRole); ok {
		if list := c.inRole(role, s.Project); len(list) > 0 {
			return list
		}
	} else if watcher != "" && c.reads(watcher) {
		return []string{watcher}
	}
	return []string{fleet.Overseer}
}

// reads says whether an agent at that address may read mail one day.
func (c *pass) reads(address string) bool {
	return ledger.AddressesOf(c.past.Registrations).Gone(address) == ""
}

func (c *pass) registered(name string) *fleet.Registration {
	for i := range c.past.Registrations {
		if r := &c.past.Registrations[i]; r.Name == name {
			return r
		}
	}
	return nil
}

// inRole lists the agents of a role that are to run: those of the project, else
// those of no project.
func (c *pass) inRole(role, project string) (list []string) {
	for _, of := range []string{project, ""} {
		for _, r := range c.past.Registrations {
			if r.Role == role && r.Project == of && r.Desired == fleet.DesiredRunning {
				list = append(list, ledger.AddressOf(r.Name))
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}
