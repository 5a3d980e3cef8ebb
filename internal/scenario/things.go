package scenario

import (
	"slices"

	"custos/internal/fleet"
)

// thing is one kind of what a story may set, and take away.
type thing struct {
	kind string
	at   func(*fleet.Snapshot) any // nil: it was taken away
	gone func(*fleet.Snapshot)     // nil: it cannot be
}

// one is the first of a list, which is all there is of its kind.
func one[T any](kind string, list func(*fleet.Snapshot) *[]T) thing {
	return thing{kind, func(s *fleet.Snapshot) any {
		if l := *list(s); len(l) > 0 {
			return &l[0]
		}
		return nil
	}, func(s *fleet.Snapshot) { *list(s) = nil }}
}

// whole is what is set as a whole.
func whole(kind string, at func(*fleet.Snapshot) any) thing { return thing{kind: kind, at: at} }

func things() []thing {
	return []thing{
		whole("host", func(s *fleet.Snapshot) any { return &s.Host.Value }),
		one("mount", func(s *fleet.Snapshot) *[]fleet.Mount { return &s.Host.Value.Mounts }),
		one("agent", func(s *fleet.Snapshot) *[]fleet.Agent { return &s.Agents.Value }),
		whole("agents", func(s *fleet.Snapshot) any { return &s.Agents.Value }),
		one("session", func(s *fleet.Snapshot) *[]fleet.Pane { return &s.Sessions.Value }),
		one("repo", func(s *fleet.Snapshot) *[]fleet.Repo { return &s.Repos.Value.Repos }),
		one("worktree", func(s *fleet.Snapshot) *[]fleet.Worktree { return &s.Repos.Value.Worktrees }),
		one("peer", func(s *fleet.Snapshot) *[]fleet.Peer { return &s.Hub.Value.Peers }),
		one("node", func(s *fleet.Snapshot) *[]fleet.HubNode { return &s.Hub.Value.Nodes }),
		one("pool", func(s *fleet.Snapshot) *[]fleet.PoolFacts { return &s.Hub.Value.Pools }),
		one("order", func(s *fleet.Snapshot) *[]fleet.Asked { return &s.Self.Value.Asked }),
		one("overlap", func(s *fleet.Snapshot) *[]fleet.Overlap { return &s.Overlaps.Value }),
		one("lock", func(s *fleet.Snapshot) *[]fleet.Lock { return &s.Locks.Value }),
		one("phase", func(s *fleet.Snapshot) *[]fleet.Phase { return &s.Phases.Value }),
		one("log", func(s *fleet.Snapshot) *[]fleet.Log { return &s.Logs.Value }),
		one("run", func(s *fleet.Snapshot) *[]fleet.RunFacts { return &s.Runs.Value }),
		whole("self", func(s *fleet.Snapshot) any { return &s.Self.Value }),
		one("plugin", func(s *fleet.Snapshot) *[]fleet.PluginFacts { return &s.Self.Value.Plugins }),
		one("receiver", func(s *fleet.Snapshot) *[]fleet.Receiver { return &s.Self.Value.Receivers }),
		one("budget", func(s *fleet.Snapshot) *[]fleet.BudgetFacts { return &s.Spending.Value.Budgets }),
		one("code", func(s *fleet.Snapshot) *[]fleet.CodeFacts { return &s.Self.Value.Code }),
		one("landmark", func(s *fleet.Snapshot) *[]fleet.Landmark { return &s.Self.Value.Landmarks }),
		one("vault", func(s *fleet.Snapshot) *[]fleet.VaultItem { return &s.Vaults.Value }),
		one("project", func(s *fleet.Snapshot) *[]fleet.Project { return &s.Forge.Value.Projects }),
		one("issue", func(s *fleet.Snapshot) *[]fleet.Issue { return &s.Forge.Value.Issues }),
		one("pr", func(s *fleet.Snapshot) *[]fleet.PullRequest { return &s.Forge.Value.Pulls }),
		whole("prs", func(s *fleet.Snapshot) any { return &s.Forge.Value.Pulls }),
		one("pipeline", func(s *fleet.Snapshot) *[]fleet.Pipeline { return &s.CI.Value.Pipelines }),
		one("worker", func(s *fleet.Snapshot) *[]fleet.Worker { return &s.CI.Value.Workers }),
		whole("engine", func(s *fleet.Snapshot) any { return &s.Engine.Value }),
		one("container", func(s *fleet.Snapshot) *[]fleet.Container { return &s.Engine.Value.Containers }),
		one("work", func(s *fleet.Snapshot) *[]fleet.WorkFacts { return &s.Coordination.Value.Work }),
		whole("works", func(s *fleet.Snapshot) any { return &s.Coordination.Value.Work }),
		one("gate", func(s *fleet.Snapshot) *[]fleet.GateFacts { return &s.Coordination.Value.Gates }),
		one("convoy", func(s *fleet.Snapshot) *[]fleet.ConvoyFacts { return &s.Coordination.Value.Convoys }),
		whole("convoys", func(s *fleet.Snapshot) any { return &s.Coordination.Value.Convoys }),
		one("merge", func(s *fleet.Snapshot) *[]fleet.MergeFacts { return &s.Coordination.Value.Merges }),
		one("mail", func(s *fleet.Snapshot) *[]fleet.MailFacts { return &s.Coordination.Value.Mails }),
	}
}

// Kinds lists what a story may set.
func Kinds() (out []string) {
	for _, t := range things() {
		out = append(out, t.kind)
	}
	return out
}

// find returns what a story may set under a name: a kind, or agent/NAME.
func find(kind string) (thing, bool) {
	all := things()
	i := slices.IndexFunc(all, func(t thing) bool { return t.kind == kind })
	if i < 0 {
		return thing{}, false
	}
	return all[i], true
}
