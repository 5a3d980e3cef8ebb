package view

import (
	"custos/internal/api"
	"custos/internal/fleet"
)

// Role is a role as it is shown, with the agents that have it.
func Role(r fleet.Role, configured bool, all []fleet.Registration) api.Role {
	v := api.Role{Name: r.Name, Preset: r.Preset, Configured: configured, What: r.What, Kind: r.Kind, Argv: fleet.RedactArgs(r.Argv), Env: r.Env, Account: r.Account, Project: r.Project, Repo: r.Repo, Dir: r.Dir,
		Prompt: r.Prompt, Headless: r.Headless, Restart: string(r.Restart), Standing: r.Standing, MemoryMax: r.MemoryMax, Heartbeat: r.Heartbeat, MaySpawn: r.MaySpawn, ReportsTo: r.ReportsTo, Mails: r.Mails, Max: r.Max, Ends: r.Ends, Context: r.Context}
	for i := range all {
		if all[i].Role == r.Name && all[i].Desired == fleet.DesiredRunning {
			v.Agents = append(v.Agents, all[i].Name)
		}
	}
	return v
}
