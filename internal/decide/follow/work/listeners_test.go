package work

import (
	"slices"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func TestListeners(t *testing.T) {
	watch := func(name, role, project string, d fleet.Desired) fleet.Registration {
		return fleet.Registration{Name: name, Role: role, Project: project, Desired: d}
	}
	all := []fleet.Registration{watch("builder", "dev", "shop", "running"), watch("old", "dev", "shop", "retired"),
		watch("shop-witness", "witness", "shop", "running"), watch("any-witness", "witness", "", "running"), watch("still", "witness", "blog", "stopped")}
	for name, x := range map[string]struct {
		agent, project string
		watcher        fleet.CoordinationPolicy
		want           []string
	}{
		"its agent":            {"builder", "shop", fleet.CoordinationPolicy{Watcher: "role/witness"}, []string{"builder"}},
		"its agent is gone":    {"old", "shop", fleet.CoordinationPolicy{Watcher: "role/witness"}, []string{"shop-witness"}},
		"nobody watches":       {"", "shop", fleet.CoordinationPolicy{}, []string{"overseer"}},
		"by role and project":  {"", "shop", fleet.CoordinationPolicy{Watcher: "role/witness"}, []string{"shop-witness"}},
		"by role alone":        {"", "blog", fleet.CoordinationPolicy{Watcher: "role/witness"}, []string{"any-witness"}},
		"by name":              {"", "shop", fleet.CoordinationPolicy{Watcher: "builder"}, []string{"builder"}},
		"by nobody's name":     {"", "shop", fleet.CoordinationPolicy{Watcher: "nobody"}, []string{"overseer"}},
		"of one project":       {"", "shop", fleet.CoordinationPolicy{Watcher: "overseer", Watchers: map[string]string{"shop": "builder"}}, []string{"builder"}},
		"a role that is empty": {"", "shop", fleet.CoordinationPolicy{Watcher: "role/mayor"}, []string{"overseer"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &pass{past: fleet.Past{Registrations: all}, policy: fleet.Policy{Coordination: x.watcher}}
			if got := c.listeners(ledger.Seen{Agent: x.agent, Project: x.project}); !slices.Equal(got, x.want) {
				t.Errorf("told %v, want %v", got, x.want)
			}
		})
	}
}
