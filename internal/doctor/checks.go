package doctor

import (
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
)

// check is one row of the table of everything the doctor looks at: pure judging
// of what was gathered before.
type check struct {
	category string
	name     string
	needs    need
	judge    func(*Examination) verdict
}

// need is what a check cannot do without, and all before it.
type need int

const (
	nothing need = iota
	config       // that can be read
	look         // at what Custos watches, and at the ledger
)

// checks is the table of what no rule tells, in the order it is told.
func checks() []check {
	return []check{
		{"dependencies", "tmux", nothing, program("tmux", "agents in terminals are neither seen nor started")},
		{"dependencies", "git", nothing, program("git", "repositories and worktrees are not seen")},
		{"dependencies", "custos-shim", nothing, program("custos-shim", "no agent can be started")},
		{"dependencies", "custos-hook", nothing, program("custos-hook", "agents tell nothing of themselves")},
		{"structure", "folders", config, judgePlaces("dir")},
		{"structure", "files", config, judgePlaces("file")},
		{"config", "read", nothing, judgeConfig},
		{"config", "in-force", config, judgeInForce},
		{"config", "namespace", look, judgeNamespace},
		{"databases", "open", config, judgeStore},
		{"databases", "pages", config, judgePages},
		{"databases", "damaged", config, judgeAside},
		{"databases", "memory", look, judgeMemory},
		{"consistency", "records", look, missing(fleet.PartAgents, judgeRecords)},
		{"consistency", "parents", look, judgeParents},
		{"consistency", "runs", look, missing(fleet.PartRuns, judgeOpenRuns)},
		{"consistency", "orders", look, judgeOrders},
		{"agents", "programs", look, judgeKinds},
		{"agents", "states", look, of(fleet.PartAgents, "there are none", judgeStates)},
		{"logs", "lines", look, of(fleet.PartLogs, "no [logs] are configured", judgeLines)},
		{"logs", "tools", look, judgeTools},
		{"sessions", "seen", look, of(fleet.PartSessions, "no tmux server runs", judgeSessions)},
		{"sessions", "dead-panes", look, of(fleet.PartSessions, "no tmux server runs", judgeDeadPanes)},
		{"worktrees", "seen", look, of(fleet.PartRepos, "no repository is configured or in use", judgeRepos)},
		{"hooks", "installed", config, judgeHooks},
		{"hooks", "undone", config, judgeUndone},
		{"formulas", "readable", look, judgeFormulas},
		{"formulas", "shadows", look, judgeShadows},
		{"schedules", "runnable", look, judgeSchedules},
		{"forge", "reachable", look, of(fleet.PartForge, "no [forge.NAME] is configured", judgeForge)},
		{"ci", "reachable", look, of(fleet.PartCI, "no [ci.NAME] is configured", judgeCI)},
		{"containers", "reachable", look, of(fleet.PartEngine, "no container engine is here", judgeEngine)},
		{"chat", "configured", config, judgeChat},
		{"chat", "reachable", config, judgeReach},
		{"security", "sockets", config, judgeSockets},
		{"security", "secrets", config, judgeSecrets},
		{"security", "listening", config, judgeListening},
		{"version", "daemon", config, judgeVersion},
		{"version", "programs", nothing, judgeBuilt},
	}
}

// all is every check: of the table, and of the rules that are one, by category.
func all(rules []api.Rule) []check {
	out := checks()
	for _, r := range rules {
		if r.Category != "" && r.Enabled {
			out = append(out, check{r.Category, r.Name, look, ruled(r)})
		}
	}
	order := fleet.Categories()
	slices.SortStableFunc(out, func(a, b check) int {
		return slices.Index(order, a.category) - slices.Index(order, b.category)
	})
	return out
}

// ruled tells what a rule found: there is no second opinion of what is wrong.
func ruled(r api.Rule) func(*Examination) verdict {
	return func(e *Examination) verdict {
		var list []verdict
		for _, f := range e.Pass.Assessment.Findings {
			if f.Rule == r.Name {
				list = append(list, finding(f, len(r.Actions) > 0))
			}
		}
		for _, b := range e.Pass.Assessment.Blind {
			if b.Rule == r.Name {
				list = append(list, cannot(b.Subject.Name+": "+b.Why).by("custos", "why", b.Subject.String()))
			}
		}
		return unlessHalfSeen(e, worst(list, "nothing found"), r.Parts...)
	}
}

// finding is a verdict: what keeps work from being done is bad, the rest is a warning.
func finding(f fleet.Finding, mends bool) verdict {
	judge := warn
	if f.Priority.AtLeast(fleet.P2) {
		judge = bad
	}
	v := judge("%s", f.Summary).by("custos", "why", f.Subject.String())
	if mends {
		v.heals = []fleet.AlertKey{f.AlertKey}
	}
	return v
}
