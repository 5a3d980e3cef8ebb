package ledger

import "custos/internal/fleet"

// proseRun is a run of two steps of prose, worked on by an agent.
func proseRun() fleet.Run {
	return fleet.Run{ID: "r1", Formula: "f", Project: "p", By: "ann", Mode: fleet.RunInTmux, Dir: "/state/runs/r1", Work: "/w",
		Session: &fleet.RunSession{Agent: "r1", Kind: "claude", Memory: 1 << 30, Recover: 1, Repo: "/w", Set: []string{"FORGE_API=https://forge/api"}},
		Steps:   []fleet.RunStep{{ID: "look", Do: fleet.StepProse, Text: "look"}, {ID: "write", Do: fleet.StepProse, Text: "write", Needs: []string{"look"}}}}
}
