package rules

import (
	"slices"
	"sort"

	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// variable is one name that expressions may use.
type variable struct {
	name string
	typ  string // structure; empty for now
	list bool
	doc  string
	part fleet.PartName                // where it comes from; empty for what is always known
	all  func(*fleet.Snapshot) ref.Val // what is in a list of the snapshot
}

func listed[T any](name, typ, doc string, part fleet.PartName, get func(*fleet.Snapshot) []T) variable {
	return variable{name, typ, true, doc, part, func(s *fleet.Snapshot) ref.Val { return objects(typ, get(s)) }}
}

// always lists the variables of every rule.
func always() []variable {
	return slices.Concat([]variable{
		{"host", "host", false, "the machine", fleet.PartHost, nil},
		{"self", "self", false, "Custos itself", fleet.PartSelf, nil},
		{"now", "", false, "the instant of the snapshot, a timestamp", "", nil},
		{"engine", "engine", false, "the container engine", fleet.PartEngine, nil},
	}, lists())
}

// lists are the variables that are lists of the snapshot.
func lists() []variable {
	type S = *fleet.Snapshot
	return []variable{
		listed("agents", "agent", "every agent", fleet.PartAgents, func(s S) []fleet.Agent { return s.Agents.Value }),
		listed("panes", "session", "every tmux pane", fleet.PartSessions, func(s S) []fleet.Pane { return s.Sessions.Value }),
		listed("repos", "repo", "every repository", fleet.PartRepos, func(s S) []fleet.Repo { return s.Repos.Value.Repos }),
		listed("worktrees", "worktree", "every worktree", fleet.PartRepos, func(s S) []fleet.Worktree { return s.Repos.Value.Worktrees }),
		listed("overlaps", "overlap", "every two worktrees whose agents change the same files", fleet.PartOverlaps, func(s S) []fleet.Overlap { return s.Overlaps.Value }),
		listed("locks", "lock", "every lock file", fleet.PartLocks, func(s S) []fleet.Lock { return s.Locks.Value }),
		listed("phases", "phase", "every phase file", fleet.PartPhases, func(s S) []fleet.Phase { return s.Phases.Value }),
		listed("logs", "log", "every log file", fleet.PartLogs, func(s S) []fleet.Log { return s.Logs.Value }),
		listed("mounts", "mount", "every file system", fleet.PartHost, func(s S) []fleet.Mount { return s.Host.Value.Mounts }),
		listed("runs", "run", "every run of a formula", fleet.PartRuns, func(s S) []fleet.RunFacts { return s.Runs.Value }),
		listed("containers", "container", "every container", fleet.PartEngine, func(s S) []fleet.Container { return s.Engine.Value.Containers }),
		listed("projects", "project", "every project on a forge", fleet.PartForge, func(s S) []fleet.Project { return s.Forge.Value.Projects }),
		listed("issues", "issue", "every issue", fleet.PartForge, func(s S) []fleet.Issue { return s.Forge.Value.Issues }),
		listed("prs", "pr", "every open pull request", fleet.PartForge, func(s S) []fleet.PullRequest { return s.Forge.Value.Pulls }),
		listed("pipelines", "pipeline", "every pipeline", fleet.PartCI, func(s S) []fleet.Pipeline { return s.CI.Value.Pipelines }),
		listed("workers", "worker", "every worker of a CI system", fleet.PartCI, func(s S) []fleet.Worker { return s.CI.Value.Workers }),
		listed("vaults", "vault", "every item of every vault", fleet.PartVaults, func(s S) []fleet.VaultItem { return s.Vaults.Value }),
		listed("peers", "peer", "every other host of the hub that this one looks after", fleet.PartHub, func(s S) []fleet.Peer { return s.Hub.Value.Peers }),
		listed("nodes", "node", "every server of the hub, where it has several, for the host that looks after all", fleet.PartHub, func(s S) []fleet.HubNode { return s.Hub.Value.NodesToTell() }),
		listed("pools", "pool", "every pool of which this host starts the workers of all", fleet.PartHub, func(s S) []fleet.PoolFacts { return s.Hub.Value.Pools }),
		listed("orders", "order", "every order of a person at another host that waits for one here", fleet.PartSelf, func(s S) []fleet.Asked { return s.Self.Value.Asked }),
		listed("works", "work", "every piece of work of the ledger", fleet.PartCoordination, func(s S) []fleet.WorkFacts { return s.Coordination.Value.Work }),
		listed("gates", "gate", "every gate", fleet.PartCoordination, func(s S) []fleet.GateFacts { return s.Coordination.Value.Gates }),
		listed("convoys", "convoy", "every convoy", fleet.PartCoordination, func(s S) []fleet.ConvoyFacts { return s.Coordination.Value.Convoys }),
		listed("merges", "merge", "every item of a merge queue, and every queue that is held", fleet.PartCoordination, func(s S) []fleet.MergeFacts { return s.Coordination.Value.Merges }),
		listed("budgets", "budget", "every allowance of every budget", fleet.PartSpending, func(s S) []fleet.BudgetFacts { return s.Spending.Value.Budgets }),
		listed("mails", "mail", "every mail that is not over", fleet.PartCoordination, func(s S) []fleet.MailFacts { return s.Coordination.Value.Mails }),
	}
}

// Kinds lists what a rule may range over, sorted.
func Kinds() []fleet.Kind {
	return []fleet.Kind{fleet.KindAgent, fleet.KindBudget, fleet.KindCode, fleet.KindContainer, fleet.KindConvoy, fleet.KindExtra, fleet.KindGate, fleet.KindHost, fleet.KindIssue, fleet.KindLandmark, fleet.KindLock,
		fleet.KindLog, fleet.KindMail, fleet.KindMerge, fleet.KindMount, fleet.KindNode, fleet.KindOrder, fleet.KindOverlap, fleet.KindPart, fleet.KindPeer, fleet.KindPhase, fleet.KindPipeline, fleet.KindPlugin, fleet.KindPool, fleet.KindPull, fleet.KindProject,
		fleet.KindReceiver, fleet.KindRepo, fleet.KindRun, fleet.KindSelf, fleet.KindSession, fleet.KindVault, fleet.KindWork, fleet.KindWorker, fleet.KindWorktree}
}

// targetKinds lists what an action may be done to: the kinds a fleet.Target holds.
func targetKinds() []fleet.Kind {
	return []fleet.Kind{fleet.KindAgent, fleet.KindCode, fleet.KindContainer, fleet.KindIssue, fleet.KindLandmark, fleet.KindLock, fleet.KindLog, fleet.KindMount,
		fleet.KindPhase, fleet.KindPipeline, fleet.KindPull, fleet.KindProject, fleet.KindRepo, fleet.KindVault, fleet.KindWorker, fleet.KindWorktree}
}

// visible lists the variables of a rule over the given kinds: those of every
// rule, and the subject under the name of its kind.
func visible(kinds ...fleet.Kind) []variable {
	vars := always()
	for _, k := range kinds {
		if k == fleet.KindHost || k == fleet.KindSelf || k == "" || declares(vars, string(k)) {
			continue
		}
		vars = append(vars, variable{name: string(k), typ: string(k), doc: "the " + string(k) + " that is judged", part: partOf(k)})
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
