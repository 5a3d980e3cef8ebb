package formula

// notActedOn says why nothing acts on a key that formulas in the wild have.
func notActedOn() map[string]string {
	const (
		gastown = "it belongs to the issue tracker of Gas Town"
		told    = "who works on it is decided by mode and agent"
		limits  = "what an agent may use is set at its launch, by its kind"
	)
	return map[string]string{
		"Formula.squash":              gastown + "; the journal and the run keep what happened",
		"Formula.pour":                gastown + "; every step of a run is kept by Custos",
		"Formula.phase":               gastown,
		"Formula.review_only":         "write it into the description, or run it in a worktree",
		"Formula.project":             "a table of this name belongs to Disinto's triage; a project is named by a text",
		"Formula.tools":               limits,
		"Formula.allowed_tools":       limits,
		"Formula.disallowed_commands": limits,
		"Formula.stack_script":        "write a step with run",
		"Formula.trigger":             "write a [[schedule]]",
		"Formula.playbook":            "write [[steps]]",
		"Formula.priority":            "runs have no priority",
		"Formula.generate":            "write a loop",
		"Context.graph_report":        "the structural section is added when it can be made",
		"Step.type":                   "a step is what it has: run, uses or prose",
		"Step.priority":               gastown,
		"Step.labels":                 gastown,
		"Step.assignee":               told,
		"Step.agent":                  told,
		"Step.executor":               told,
		"Step.interactive":            told,
		"Step.script":                 `write run = "…"`,
		"Step.parallel":               "steps that do not need each other run side by side anyway",
		"Leg.agent":                   told,
		"Leg.review_only":             "write it into the description",
		"Compose.hooks":               gastown,
		"Compose.bond_points":         gastown,
	}
}
