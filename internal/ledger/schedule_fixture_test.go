package ledger

import "custos/internal/fleet"

func template(formula, project string) fleet.Run {
	return fleet.Run{Formula: formula, Project: project, Mode: fleet.RunSteps, Dir: "/state/runs",
		Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}}}}
}
