package view

import (
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// seen lists every part with how it was seen.
func seen(s *fleet.Snapshot) []api.PartSeen {
	out := make([]api.PartSeen, 0, len(fleet.PartNames()))
	for _, name := range fleet.PartNames() {
		sight := s.Sight(name)
		if name == fleet.PartHub && sight.Usable() && s.Hub.Value.Host == "" {
			continue // nothing is shared, and most share nothing
		}
		n, what := content(s, name)
		if !sight.Usable() || notLookedFor(*sight) {
			n, what = 0, ""
		}
		part := api.PartSeen{Part: string(name), Status: string(sight.Status), Count: n, What: what, Why: sight.Why, Source: sight.Source}
		if sight.Took > 0 {
			part.Took = time.Duration(sight.Took).Round(time.Millisecond).String()
		}
		out = append(out, part)
	}
	return out
}

// notLookedFor says whether nothing of the kind is configured.
func notLookedFor(s fleet.Sight) bool { return s.Status == fleet.StatusAbsent && s.At.IsZero() }

// notSeen lists the parts nothing can be said about, or only what was.
func notSeen(s *fleet.Snapshot) []api.PartSeen {
	out := []api.PartSeen{}
	for _, p := range seen(s) {
		if p.Status != string(fleet.StatusOK) && p.Status != string(fleet.StatusAbsent) {
			out = append(out, p)
		}
	}
	return out
}

// content counts what a part holds.
func content(s *fleet.Snapshot, name fleet.PartName) (int, string) {
	count := func(n int, one string) (int, string) { return n, fleet.Counted(n, one) }
	switch name {
	case fleet.PartHost:
		return count(len(s.Host.Value.Mounts), "file system")
	case fleet.PartProcesses:
		return count(len(s.Processes.Value), "process")
	case fleet.PartSessions:
		return count(len(s.Sessions.Value), "pane")
	case fleet.PartAgents:
		return count(len(s.Agents.Value), "agent")
	case fleet.PartRepos:
		n, _ := count(len(s.Repos.Value.Repos), "")
		return n, fleet.Counted(n, "repository") + ", " + fleet.Counted(len(s.Repos.Value.Worktrees), "worktree")
	case fleet.PartLocks:
		return count(len(s.Locks.Value), "lock")
	case fleet.PartPhases:
		return count(len(s.Phases.Value), "phase file")
	case fleet.PartLogs:
		return count(len(s.Logs.Value), "log")
	case fleet.PartExtra:
		return count(len(s.Extra.Value), "extra fact")
	case fleet.PartRuns:
		return count(len(s.Runs.Value), "run")
	case fleet.PartEngine:
		return count(len(s.Engine.Value.Containers), "container")
	case fleet.PartForge:
		n, _ := count(len(s.Forge.Value.Projects), "")
		return n, fleet.Counted(n, "project") + ", " + fleet.Counted(len(s.Forge.Value.Issues), "issue") + ", " + fleet.Counted(len(s.Forge.Value.Pulls), "pull request")
	case fleet.PartCI:
		n, _ := count(len(s.CI.Value.Pipelines), "")
		return n, fleet.Counted(n, "pipeline") + ", " + fleet.Counted(len(s.CI.Value.Workers), "worker")
	case fleet.PartBeads:
		return count(len(s.Beads.Value), "bead")
	case fleet.PartVaults:
		return count(len(s.Vaults.Value), "vault item")
	case fleet.PartOverlaps:
		if len(s.Overlaps.Value) == 0 { // as nearly always
			return 0, ""
		}
		return count(len(s.Overlaps.Value), "overlap")
	case fleet.PartChecks:
		return count(len(s.Checks.Value), "check")
	case fleet.PartSpending:
		if len(s.Spending.Value.Budgets) == 0 { // most have none
			return 0, ""
		}
		return count(len(s.Spending.Value.Budgets), "budget")
	case fleet.PartHub:
		if s.Hub.Value.Host == "" { // most share nothing
			return 0, ""
		}
		return count(len(s.Hub.Value.Peers), "other host")
	case fleet.PartCoordination:
		return countRecords(&s.Coordination.Value)
	}
	return 0, ""
}

func fromView(v fleet.Vantage) api.From {
	return api.From{Host: v.Host, UID: v.UID, Container: v.Container, Version: v.Version, Unsaid: v.Unsaid}
}

func hostView(s *fleet.Snapshot) api.Host {
	if !s.Host.Usable() {
		return api.Host{}
	}
	h := s.Host.Value
	out := api.Host{
		MemoryAvailable: pointer(h.Memory.Available), MemoryTotal: pointer(h.Memory.Total),
		SwapUsed: pointer(h.Swap.Used), Load: pointer(h.Load.One), CPUs: h.CPUs,
	}
	for _, m := range h.Mounts {
		if used, ok := m.UsedPercent.Get(); ok && (out.DiskPercent == nil || used > *out.DiskPercent) {
			out.FullestMount, out.DiskPercent = m.Path, &used
		}
	}
	return out
}
