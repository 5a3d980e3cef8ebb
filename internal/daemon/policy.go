package daemon

import (
	"custos/internal/config"
	"custos/internal/fleet"
)

// policy returns what a person allows, for one pass. The freeze file is read
// each time.
func policy(cfg config.Config, agents fleet.AgentLimits, abilities map[string]fleet.Ability, order fleet.PatrolOrder) fleet.Policy {
	p := fleet.Policy{
		Mode:      fleet.Mode(cfg.Mode),
		Frozen:    Frozen(cfg),
		Grace:     fleet.Duration(cfg.Grace),
		Budget:    fleet.Attempts{Max: cfg.Budget.Max, In: fleet.Duration(cfg.Budget.In)},
		Blast:     cfg.Blast,
		Abilities: abilities,
		Agents:    agents,
	}
	if order.Apply {
		p.ApprovedBy = order.By
	}
	return p
}
