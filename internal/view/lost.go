package view

import (
	"custos/internal/api"
	"custos/internal/fleet"
)

// IsLost says whether a shim of ours has started what runs there, and no record knows
// of it: what was known of it is lost.
func IsLost(a fleet.Agent) bool {
	return a.Owner == fleet.OwnerUnknown && a.Instance != "" && !a.Registered && a.Process.PID != 0
}

// Adoptions propose to hand over what a lost past has started.
func Adoptions(s *fleet.Snapshot) (out []api.Hint) {
	if !s.Agents.Usable() {
		return nil
	}
	for _, a := range s.Agents.Value {
		if IsLost(a) {
			out = append(out, Adoption(a))
		}
	}
	return out
}

// Adoption proposes it of one agent.
func Adoption(a fleet.Agent) api.Hint {
	return api.Hint{Command: api.Typed("custos", "adopt", a.Name), What: "have Custos care for it again: what was known of it is lost"}
}
