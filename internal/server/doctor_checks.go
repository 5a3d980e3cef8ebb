package server

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
	needs    int // what it cannot do without
	judge    func(*Examination) verdict
}

// What a check needs.
const (
	wantsConfig = 1 << iota // a configuration that can be read
	wantsPlaces             // what was found of the installation
	wantsFleet              // a look, and the ledger
)

// both is what most checks of the installation need.
const both = wantsConfig | wantsPlaces

// seenFleet is what checks of what Custos watches need.
const seenFleet = wantsConfig | wantsFleet

// checks is the table of what no rule tells, in the order it is told.
func checks() []check {
	return []check{
		{"dependencies", "tmux", wantsPlaces, program("tmux", "agents in terminals are neither seen nor started")},
		{"dependencies", "git", wantsPlaces, program("git", "repositories and worktrees are not seen")},
		{"dependencies", "custos-shim", wantsPlaces, program("custos-shim", "no agent can be started")},
		{"dependencies", "custos-hook", wantsPlaces, program("custos-hook", "agents tell nothing of themselves")},
		{"structure", "folders", both, judgePlaces("dir")},
		{"structure", "files", both, judgePlaces("file")},
		{"config", "read", 0, judgeConfig},
		{"config", "in-force", both, judgeInForce},
		{"config", "namespace", seenFleet, judgeNamespace},
		{"databases", "open", both, judgeStore},
		{"databases", "pages", both, judgePages},
		{"databases", "damaged", both, judgeAside},
		{"databases", "memory", seenFleet, judgeMemory},
		{"consistency", "records", seenFleet, missing(fleet.PartAgents, judgeRecords)},
		{"consistency", "parents", seenFleet, judgeParents},
		{"consistency", "runs", seenFleet, missing(fleet.PartRuns, judgeOpenRuns)},
		{"consistency", "orders", seenFleet, judgeOrders},
		{"agents", "programs", both | wantsFleet, judgeKinds},
		{"agents", "states", seenFleet, of(fleet.PartAgents, "there are none", judgeStates)},
		{"logs", "lines", both | wantsFleet, of(fleet.PartLogs, "no [logs] are configured", judgeLines)},
		{"logs", "tools", seenFleet, judgeTools},
		{"sessions", "seen", seenFleet, of(fleet.PartSessions, "no tmux server runs", judgeSessions)},
		{"sessions", "dead-panes", seenFleet, of(fleet.PartSessions, "no tmux server runs", judgeDeadPanes)},
		{"worktrees", "seen", seenFleet, of(fleet.PartRepos, "no repository is configured or in use", judgeRepos)},
		{"hooks", "installed", both, judgeHooks},
		{"hooks", "undone", both, judgeUndone},
		{"formulas", "readable", seenFleet, judgeFormulas},
		{"formulas", "shadows", seenFleet, judgeShadows},
		{"schedules", "runnable", seenFleet, judgeSchedules},
		{"forge", "reachable", seenFleet, of(fleet.PartForge, "no [forge.NAME] is configured", judgeForge)},
		{"ci", "reachable", seenFleet, of(fleet.PartCI, "no [ci.NAME] is configured", judgeCI)},
		{"containers", "reachable", seenFleet, of(fleet.PartEngine, "no container engine is here", judgeEngine)},
		{"chat", "configured", both, judgeChat},
		{"chat", "reachable", both, judgeReach},
		{"security", "sockets", both, judgeSockets},
		{"security", "secrets", both, judgeSecrets},
		{"security", "listening", both, judgeListening},
		{"version", "daemon", wantsConfig, judgeVersion},
		{"version", "programs", wantsPlaces, judgeBuilt},
	}
}

// all is every check: of the table, and of the rules that are one, by category.
func all(rules []api.Rule) []check {
	out := checks()
	for _, r := range rules {
		if r.Category != "" && r.Enabled {
			out = append(out, check{r.Category, r.Name, seenFleet, ruled(r)})
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
