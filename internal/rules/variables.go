package rules

import (
	"sort"

	"custos/internal/fleet"
)

// variable is one name that expressions may use.
type variable struct {
	name string
	typ  string // structure; empty for now
	list bool
	doc  string
	part fleet.PartName // where it comes from; empty for what is always known
}

// always lists the variables of every rule.
func always() []variable {
	return []variable{
		{"host", "host", false, "the machine", fleet.PartHost},
		{"self", "self", false, "Custos itself", fleet.PartSelf},
		{"now", "", false, "the instant of the snapshot, a timestamp", ""},
		{"agents", "agent", true, "every agent", fleet.PartAgents},
		{"panes", "session", true, "every tmux pane", fleet.PartSessions},
		{"repos", "repo", true, "every repository", fleet.PartRepos},
		{"worktrees", "worktree", true, "every worktree", fleet.PartRepos},
		{"locks", "lock", true, "every lock file", fleet.PartLocks},
		{"phases", "phase", true, "every phase file", fleet.PartPhases},
		{"logs", "log", true, "every log file", fleet.PartLogs},
		{"mounts", "mount", true, "every file system", fleet.PartHost},
		{"runs", "run", true, "every run of a formula", fleet.PartRuns},
		{"engine", "engine", false, "the container engine", fleet.PartEngine},
		{"containers", "container", true, "every container", fleet.PartEngine},
		{"projects", "project", true, "every project on a forge", fleet.PartForge},
		{"issues", "issue", true, "every issue", fleet.PartForge},
		{"prs", "pr", true, "every open pull request", fleet.PartForge},
		{"pipelines", "pipeline", true, "every pipeline", fleet.PartCI},
		{"workers", "worker", true, "every worker of a CI system", fleet.PartCI},
		{"works", "work", true, "every piece of work of the ledger", fleet.PartCoordination},
		{"gates", "gate", true, "every gate", fleet.PartCoordination},
		{"convoys", "convoy", true, "every convoy", fleet.PartCoordination},
		{"mails", "mail", true, "every mail that is not over", fleet.PartCoordination},
	}
}

// Kinds lists what a rule may range over, sorted.
func Kinds() []fleet.Kind {
	return []fleet.Kind{fleet.KindAgent, fleet.KindCode, fleet.KindContainer, fleet.KindConvoy, fleet.KindExtra, fleet.KindGate, fleet.KindHost, fleet.KindIssue, fleet.KindLandmark, fleet.KindLock,
		fleet.KindLog, fleet.KindMail, fleet.KindMount, fleet.KindPart, fleet.KindPhase, fleet.KindPipeline, fleet.KindPlugin, fleet.KindPull, fleet.KindProject,
		fleet.KindReceiver, fleet.KindRepo, fleet.KindRun, fleet.KindSelf, fleet.KindSession, fleet.KindWork, fleet.KindWorker, fleet.KindWorktree}
}

// targetKinds lists what an action may be done to: the kinds a fleet.Target holds.
func targetKinds() []fleet.Kind {
	return []fleet.Kind{fleet.KindAgent, fleet.KindCode, fleet.KindContainer, fleet.KindIssue, fleet.KindLandmark, fleet.KindLock, fleet.KindLog, fleet.KindMount,
		fleet.KindPhase, fleet.KindPipeline, fleet.KindPull, fleet.KindProject, fleet.KindRepo, fleet.KindWorker, fleet.KindWorktree}
}

// visible lists the variables of a rule over the given kinds: those of every
// rule, and the subject under the name of its kind.
func visible(kinds ...fleet.Kind) []variable {
	vars := always()
	for _, k := range kinds {
		if k == fleet.KindHost || k == fleet.KindSelf || k == "" || declares(vars, string(k)) {
			continue
		}
		vars = append(vars, variable{string(k), string(k), false, "the " + string(k) + " that is judged", partOf(k)})
		for _, j := range joined(k) {
			if !declares(vars, j.name) {
				vars = append(vars, j)
			}
		}
	}
	return vars
}

func declares(vars []variable, name string) bool {
	for _, v := range vars {
		if v.name == name {
			return true
		}
	}
	return false
}

// partOf is fleet.PartOf, but a part is a fact of its own.
func partOf(k fleet.Kind) fleet.PartName {
	if k == fleet.KindPart {
		return ""
	}
	return fleet.PartOf(k)
}

func names[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = string(n)
	}
	sort.Strings(out)
	return out
}
