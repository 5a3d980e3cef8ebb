package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
)

// check is one row of the table of everything the doctor looks at: pure judging
// of what was gathered before.
type check struct {
	category, name string
	needs          need
	judge          judging
}

type judging = func(*Examination) verdict

// need is what a check cannot do without, and all before it.
type need int

const (
	nothing need = iota
	config       // that can be read
	look         // at what Custos watches, and at the ledger
)

// checks is the table of what no rule finds, in the order it is shown.
func checks() []check {
	return []check{
		{"dependencies", "tmux", nothing, program("tmux", "agents in terminals are neither seen nor started")},
		{"dependencies", "git", nothing, program("git", "repositories and worktrees are not seen")},
		{"dependencies", "custos-shim", nothing, program("custos-shim", "no agent can be started")},
		{"dependencies", "custos-hook", nothing, program("custos-hook", "agents say nothing of themselves")},
		{"structure", "folders", config, places("dir", "folder", "nothing was written yet: they are made when they are needed", "%s, all of them ours")},
		{"structure", "files", config, places("file", "file", "nothing was written yet: they are made when they are needed", "%s, ours, or root's where Custos only reads")},
		{"config", "read", nothing, judgeConfig},
		{"config", "in-force", config, judgeInForce},
		{"config", "namespace", look, judgeNamespace},
		{"databases", "open", config, judgeStore},
		{"databases", "pages", config, judgePages},
		{"databases", "damaged", config, judgeAside},
		{"databases", "memory", look, judgeMemory},
		{"consistency", "parents", look, judgeParents},
		{"consistency", "orders", look, judgeOrders},
		{"agents", "programs", look, judgeKinds},
		{"agents", "versions", look, of(fleet.PartAgents, "there are none", judgeTaught)},
		{"agents", "states", look, of(fleet.PartAgents, "there are none", judgeStates)},
		{"logs", "lines", look, of(fleet.PartLogs, "no [logs] are configured", judgeLines)},
		{"logs", "tools", look, judgeTools},
		{"logs", "usage", look, of(fleet.PartSpending, "no model was used", judgeUsage)},
		{"sessions", "seen", look, of(fleet.PartSessions, "no tmux server runs", judgeSessions)},
		{"sessions", "dead-panes", look, of(fleet.PartSessions, "no tmux server runs", judgeDeadPanes)},
		{"worktrees", "seen", look, of(fleet.PartRepos, "no repository is configured or in use", judgeRepos)},
		{"hooks", "installed", config, judgeHooks},
		{"hooks", "undone", config, judgeUndone},
		{"hooks", "heard", look, of(fleet.PartAgents, "there are none", judgeHeard)},
		{"formulas", "readable", look, judgeFormulas},
		{"formulas", "shadows", look, judgeShadows},
		{"schedules", "runnable", look, judgeSchedules},
		{"forge", "reachable", look, of(fleet.PartForge, "no [forge.NAME] is configured", judgeForge)},
		{"ci", "reachable", look, of(fleet.PartCI, "no [ci.NAME] is configured", judgeCI)},
		{"containers", "reachable", look, of(fleet.PartEngine, "no container engine is here", judgeEngine)},
		{"chat", "configured", config, judgeChat},
		{"chat", "reachable", config, judgeReach},
		{"security", "sockets", config, places("socket", "socket", "there is none now", "%s, this user's")},
		{"security", "secrets", config, places("token", "file", "custos.toml names no file with a token", "%s with a token, this user's")},
		{"security", "listening", config, judgeListening},
		{"service", "unit", config, judgeService},
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

// ruled shows what a rule found: there is no second opinion of what is wrong.
func ruled(r api.Rule) judging {
	return func(e *Examination) verdict {
		found := each(e.Pass.Assessment.Findings, func(f fleet.Finding) verdict {
			return when(f.Rule == r.Name, finding(f, len(r.Actions) > 0))
		})
		blind := each(e.Pass.Assessment.Blind, func(b fleet.CannotTell) verdict {
			return when(b.Rule == r.Name, cannot(b.Subject.Name+": "+b.Why).by("custos", "why", b.Subject.String()))
		})
		return unlessHalfSeen(e, worst(append(found, blind...), "nothing found"), r.Parts...)
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
		v.mends = []fleet.AlertKey{f.AlertKey}
	}
	return v
}

// of is a check of what a part holds: what it finds is shown, and that it finds nothing
// only where all of the part was seen now. none is said where there is no such thing.
func of(name fleet.PartName, none string, judge judging) judging {
	return func(e *Examination) verdict {
		switch s := e.Pass.Snapshot.Sight(name); {
		case s.Status == fleet.StatusAbsent:
			return ok("%s", none)
		case !s.Usable():
			return cannot(cmp.Or(s.Why, "it was not seen")).by("custos status")
		}
		return unlessHalfSeen(e, judge(e), string(name))
	}
}

// unlessHalfSeen is a verdict that rests on parts: one that is well is none where a part
// of them is an old reading, or where not all of it is looked at. Of parts that were not
// seen at all the assessment says itself what cannot be judged.
func unlessHalfSeen(e *Examination, v verdict, parts ...string) verdict {
	if v.state != api.CheckOK {
		return v
	}
	for _, name := range parts {
		if s := e.Pass.Snapshot.Sight(fleet.PartName(name)); s.Usable() && !s.Tells() {
			return cannot(halfSeen(name, *s)).by("custos status")
		}
	}
	return v
}

// halfSeen says why what a part does not hold may be there all the same.
func halfSeen(name string, s fleet.Sight) string {
	if !s.Fresh() {
		return fmt.Sprintf("of %s there is only an old reading: %s", name, cmp.Or(s.Why, s.Cut))
	}
	return fmt.Sprintf("not all of %s is looked at: %s", name, s.Cut)
}
