package assess

import (
	"custos/internal/fleet"
	"custos/internal/rules"
)

// item is one thing a rule can be asked about.
type item struct {
	subject fleet.Subject
	value   any // pointer into the snapshot
	seen    rules.Seen
	target  fleet.Target
}

// list returns the things of a kind in the order of the snapshot.
func (p *pass) list(k fleet.Kind) []item {
	list, ok := p.items[k]
	if !ok {
		list = p.prepare(k, p.collect(k))
		p.items[k] = list
	}
	return list
}

func (p *pass) prepare(k fleet.Kind, list []item) []item {
	for i := range list {
		list[i].subject.Kind = k
		list[i].seen = p.view.See(k, list[i].value)
	}
	return list
}

func (p *pass) collect(k fleet.Kind) []item {
	s := p.snap
	switch k {
	case fleet.KindHost:
		return []item{named(hostName(s), &s.Host.Value, fleet.Target{})}
	case fleet.KindSelf:
		return []item{named("custos", &s.Self.Value, fleet.Target{})}
	case fleet.KindPart:
		return parts(s)
	case fleet.KindExtra:
		return each(s.Extra.Value, func(e *fleet.Extra) item { return named(e.Name, e, fleet.Target{}) })
	case fleet.KindRun:
		return each(s.Runs.Value, func(r *fleet.RunFacts) item { return named(r.ID, r, fleet.Target{}) })
	case fleet.KindPlugin:
		return each(s.Self.Value.Plugins, func(x *fleet.PluginFacts) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindReceiver:
		return each(s.Self.Value.Receivers, func(x *fleet.Receiver) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindPool:
		return each(s.Hub.Value.Pools, func(x *fleet.PoolFacts) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindPeer:
		return each(s.Hub.Value.Peers, func(x *fleet.Peer) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindNode:
		return each(s.Hub.Value.NodesToTell(), func(x *fleet.HubNode) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindOrder:
		return each(s.Self.Value.Asked, func(x *fleet.Asked) item { return named(x.ID, x, fleet.Target{}) })
	case fleet.KindOverlap:
		return each(s.Overlaps.Value, func(x *fleet.Overlap) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindBudget:
		return each(s.Spending.Value.Budgets, func(x *fleet.BudgetFacts) item { return named(x.Name, x, fleet.Target{}) })
	case fleet.KindSession:
		return each(s.Sessions.Value, func(x *fleet.Pane) item { return named(x.Place(), x, fleet.Target{}) })
	case fleet.KindMount:
		return each(s.Host.Value.Mounts, func(m *fleet.Mount) item { return named(m.Path, m, fleet.Target{Mount: m}) })
	}
	return collectTargets(s, k)
}

// collectTargets lists the kinds that an action can be done to.
func collectTargets(s *fleet.Snapshot, k fleet.Kind) []item {
	switch k {
	case fleet.KindAgent:
		return each(s.Agents.Value, func(a *fleet.Agent) item { return named(a.Name, a, fleet.Target{Agent: a}) })
	case fleet.KindRepo:
		return each(s.Repos.Value.Repos, func(r *fleet.Repo) item { return named(r.Path, r, fleet.Target{Repo: r}) })
	case fleet.KindWorktree:
		return each(s.Repos.Value.Worktrees, func(w *fleet.Worktree) item { return named(w.Path, w, fleet.Target{Worktree: w}) })
	case fleet.KindLock:
		return each(s.Locks.Value, func(l *fleet.Lock) item { return named(l.Path, l, fleet.Target{Lock: l}) })
	case fleet.KindPhase:
		return each(s.Phases.Value, func(x *fleet.Phase) item { return named(x.Path, x, fleet.Target{Phase: x}) })
	case fleet.KindLog:
		return each(s.Logs.Value, func(l *fleet.Log) item { return named(l.Path, l, fleet.Target{Log: l}) })
	case fleet.KindCode:
		return each(s.Self.Value.Code, func(c *fleet.CodeFacts) item { return named(c.Dir, c, fleet.Target{Code: c}) })
	case fleet.KindVault:
		return each(s.Vaults.Value, func(x *fleet.VaultItem) item { return named(x.Name, x, fleet.Target{Vault: x}) })
	case fleet.KindLandmark:
		return each(s.Self.Value.Landmarks, func(x *fleet.Landmark) item { return named(x.Path, x, fleet.Target{Landmark: x}) })
	case fleet.KindContainer:
		return each(s.Engine.Value.Containers, func(c *fleet.Container) item { return named(c.Name, c, fleet.Target{Container: c}) })
	}
	return collectElsewhere(s, k)
}

// collectElsewhere lists what lives on a forge or a CI system.
func collectElsewhere(s *fleet.Snapshot, k fleet.Kind) []item {
	switch k {
	case fleet.KindProject:
		return each(s.Forge.Value.Projects, func(x *fleet.Project) item { return named(x.Name, x, fleet.Target{Project: x}) })
	case fleet.KindIssue:
		return each(s.Forge.Value.Issues, func(x *fleet.Issue) item { return named(x.Name, x, fleet.Target{Issue: x}) })
	case fleet.KindPull:
		return each(s.Forge.Value.Pulls, func(x *fleet.PullRequest) item { return named(x.Name, x, fleet.Target{Pull: x}) })
	case fleet.KindPipeline:
		return each(s.CI.Value.Pipelines, func(x *fleet.Pipeline) item { return named(x.Name, x, fleet.Target{Pipeline: x}) })
	case fleet.KindWorker:
		return each(s.CI.Value.Workers, func(x *fleet.Worker) item { return named(x.Name, x, fleet.Target{Worker: x}) })
	}
	return collectRecords(&s.Coordination.Value, k)
}

// collectRecords lists what people and agents coordinate by.
func collectRecords(c *fleet.Coordination, k fleet.Kind) []item {
	switch k {
	case fleet.KindWork:
		return each(c.Work, func(x *fleet.WorkFacts) item { return named(string(x.Ref), x, fleet.Target{}) })
	case fleet.KindGate:
		return each(c.Gates, func(x *fleet.GateFacts) item { return named(x.ID, x, fleet.Target{}) })
	case fleet.KindConvoy:
		return each(c.Convoys, func(x *fleet.ConvoyFacts) item { return named(x.ID, x, fleet.Target{}) })
	case fleet.KindMail:
		return each(c.Mails, func(x *fleet.MailFacts) item { return named(x.ID, x, fleet.Target{}) })
	case fleet.KindMerge:
		return each(c.Merges, func(x *fleet.MergeFacts) item { return named(x.ID, x, fleet.Target{}) })
	}
	return nil
}

func named(name string, value any, t fleet.Target) item {
	return item{subject: fleet.Subject{Name: name}, value: value, target: t}
}

func each[T any](list []T, turn func(*T) item) []item {
	out := make([]item, len(list))
	for i := range list {
		out[i] = turn(&list[i])
	}
	return out
}

func parts(s *fleet.Snapshot) []item {
	var out []item
	for _, name := range fleet.PartNames() {
		out = append(out, named(string(name), &rules.Part{Name: name, Sight: *s.Sight(name)}, fleet.Target{}))
	}
	return out
}

// hostName does not come from the host part, which may be unknown.
func hostName(s *fleet.Snapshot) string {
	if s.From.Host != "" {
		return s.From.Host
	}
	return "localhost"
}
