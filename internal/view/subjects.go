package view

import "custos/internal/fleet"

// Subjects lists everything the snapshot can be asked about, in its order.
func Subjects(s *fleet.Snapshot) []fleet.Subject {
	out := []fleet.Subject{{Kind: fleet.KindHost, Name: s.From.Host}}
	add := func(k fleet.Kind, name string) { out = append(out, fleet.Subject{Kind: k, Name: name}) }
	for _, m := range s.Host.Value.Mounts {
		add(fleet.KindMount, m.Path)
	}
	for _, p := range s.Sessions.Value {
		add(fleet.KindSession, p.Place())
	}
	for _, a := range s.Agents.Value {
		add(fleet.KindAgent, a.Name)
	}
	for _, r := range s.Repos.Value.Repos {
		add(fleet.KindRepo, r.Path)
	}
	for _, w := range s.Repos.Value.Worktrees {
		add(fleet.KindWorktree, w.Path)
	}
	for _, l := range s.Locks.Value {
		add(fleet.KindLock, l.Path)
	}
	for _, p := range s.Phases.Value {
		add(fleet.KindPhase, p.Path)
	}
	for _, l := range s.Logs.Value {
		add(fleet.KindLog, l.Path)
	}
	for _, e := range s.Extra.Value {
		add(fleet.KindExtra, e.Name)
	}
	for _, r := range s.Runs.Value {
		add(fleet.KindRun, r.ID)
	}
	for _, p := range s.Self.Value.Plugins {
		add(fleet.KindPlugin, p.Name)
	}
	for _, r := range s.Self.Value.Receivers {
		add(fleet.KindReceiver, r.Name)
	}
	for _, o := range s.Overlaps.Value {
		add(fleet.KindOverlap, o.Name)
	}
	for _, p := range s.Hub.Value.Peers {
		add(fleet.KindPeer, p.Name)
	}
	for _, n := range s.Hub.Value.Nodes {
		add(fleet.KindNode, n.Name)
	}
	for _, p := range s.Hub.Value.Pools {
		add(fleet.KindPool, p.Name)
	}
	for _, o := range s.Self.Value.Asked {
		add(fleet.KindOrder, o.ID)
	}
	for _, b := range s.Spending.Value.Budgets {
		add(fleet.KindBudget, b.Name)
	}
	for _, c := range s.Self.Value.Code {
		add(fleet.KindCode, c.Dir)
	}
	for _, l := range s.Self.Value.Landmarks {
		add(fleet.KindLandmark, l.Path)
	}
	for _, v := range s.Vaults.Value {
		add(fleet.KindVault, v.Name)
	}
	out = append(out, elsewhereSubjects(s)...)
	for _, name := range fleet.PartNames() {
		add(fleet.KindPart, string(name))
	}
	return append(out, fleet.Subject{Kind: fleet.KindSelf, Name: "custos"})
}

// elsewhereSubjects lists containers and what lives on a forge or a CI system.
func elsewhereSubjects(s *fleet.Snapshot) []fleet.Subject {
	var out []fleet.Subject
	add := func(k fleet.Kind, name string) { out = append(out, fleet.Subject{Kind: k, Name: name}) }
	for _, c := range s.Engine.Value.Containers {
		add(fleet.KindContainer, c.Name)
	}
	for _, p := range s.Forge.Value.Projects {
		add(fleet.KindProject, p.Name)
	}
	for _, i := range s.Forge.Value.Issues {
		add(fleet.KindIssue, i.Name)
	}
	for _, p := range s.Forge.Value.Pulls {
		add(fleet.KindPull, p.Name)
	}
	for _, p := range s.CI.Value.Pipelines {
		add(fleet.KindPipeline, p.Name)
	}
	for _, w := range s.CI.Value.Workers {
		add(fleet.KindWorker, w.Name)
	}
	subjectsOfRecords(&s.Coordination.Value, add)
	return out
}

func subjectsOfRecords(c *fleet.Coordination, add func(fleet.Kind, string)) {
	for _, w := range c.Work {
		add(fleet.KindWork, string(w.Ref))
	}
	for _, g := range c.Gates {
		add(fleet.KindGate, g.ID)
	}
	for _, v := range c.Convoys {
		add(fleet.KindConvoy, v.ID)
	}
	for _, m := range c.Merges {
		add(fleet.KindMerge, m.ID)
	}
	for _, m := range c.Mails {
		add(fleet.KindMail, m.ID)
	}
}
