package catalog

import (
	"errors"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/fleet"
)

// Workers are what custos.toml says of who does work, and of how that is merged.
type Workers struct {
	Pools  []fleet.Pool
	Roles  []fleet.Role
	Teams  []fleet.Team
	Merges []fleet.MergeQueue
}

// ReadWorkers reads the sections [pool.NAME], [role.NAME], [team.NAME] and [merge.NAME].
func ReadWorkers(cfg config.Config, kinds *agent.Kinds) (w Workers, err error) {
	var wrong [4]error
	w.Pools, wrong[0] = Pools(cfg, kinds)
	w.Roles, wrong[1] = Roles(cfg, kinds)
	if wrong[1] != nil { // what names a role would be told that there is none
		return w, errors.Join(wrong[:]...)
	}
	w.Teams, wrong[2] = Teams(cfg, w.Roles)
	w.Merges, wrong[3] = Merges(cfg, w.Roles)
	return w, errors.Join(wrong[:]...)
}
