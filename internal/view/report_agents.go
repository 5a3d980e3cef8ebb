package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// madeIn lists the subjects of the commits that were made in a worktree.
type madeIn func(top string) (subjects []string, more bool, err error)

// AgentReports says of each agent what became of it: those that are seen, and those
// that are registered and not seen.
func AgentReports(p *fleet.Pass, from fleet.Instant, made madeIn) []api.ReportAgent {
	snap := &p.Snapshot
	var list []fleet.Agent
	if snap.Agents.Usable() {
		list = slices.Clone(snap.Agents.Value)
	}
	seen := ByName(snap)
	for _, r := range p.Past.Registrations {
		if seen[r.Name] == nil {
			a := UnseenAgent(r, snap.Agents.Sight)
			a.Worktree, a.CWD = r.Worktree, fleet.Known(r.Dir)
			list = append(list, a)
		}
	}
	tops := map[string]int{} // how many agents work in each worktree
	for _, a := range list {
		if top, _ := worktreeOf(a, snap); top != "" {
			tops[top]++
		}
	}
	out := make([]api.ReportAgent, 0, len(list))
	for _, a := range list {
		r := agentReport(a, ledger.Registration(p.Past.Registrations, a.Name), snap)
		addCommits(&r, tops[r.Worktree], made)
		addPulls(&r, a, snap, fleet.Duration(snap.At.Wall.Sub(from.Wall)))
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b api.ReportAgent) int {
		return cmp.Or(cmp.Compare(api.Attention(a.State), api.Attention(b.State)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func agentReport(a fleet.Agent, reg *fleet.Registration, snap *fleet.Snapshot) api.ReportAgent {
	out := api.ReportAgent{Name: a.Name, Kind: a.Kind, State: string(a.State), Since: lasting(snap.Now(a).Dwell), Reason: a.Reason, Owner: string(a.Owner),
		Project: a.Project, Task: a.Task, Failed: a.Failed, Made: []string{}, Pulls: []api.ReportPull{}, Tokens: pointer(a.Tokens)}
	if a.Exit != nil {
		out.Ended = exitWords(*a.Exit)
	}
	if micro, ok := a.Cost.Get(); ok {
		d := Dollars(micro)
		out.Dollars = &d
	}
	var w *fleet.Worktree
	if out.Worktree, w = worktreeOf(a, snap); w != nil {
		out.Branch, out.Unpushed, out.Dirty, out.Merged = w.Branch.Or(""), pointer(w.Unpushed), pointer(w.Dirty), pointer(w.Merged)
	}
	if reg != nil {
		out.Branch = cmp.Or(out.Branch, reg.Branch)
	}
	return out
}

// worktreeOf finds where an agent works: its own worktree, or the linked or main one
// it stands in. w is nil for one that is not a linked one that is seen.
func worktreeOf(a fleet.Agent, snap *fleet.Snapshot) (top string, w *fleet.Worktree) {
	if !snap.Repos.Usable() {
		return a.Worktree, nil
	}
	at := cmp.Or(a.Worktree, a.CWD.Or(""))
	inside := func(dir string) bool { return at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/") }
	for i, one := range snap.Repos.Value.Worktrees {
		if inside(one.Path) && len(one.Path) > len(top) {
			top, w = one.Path, &snap.Repos.Value.Worktrees[i]
		}
	}
	for _, r := range snap.Repos.Value.Repos {
		if inside(r.Path) && len(r.Path) > len(top) {
			top, w = r.Path, nil
		}
	}
	return cmp.Or(top, a.Worktree), w
}

// addCommits counts what was committed in the agent's worktree. Where several stand
// in one, git does not say whose a commit is.
func addCommits(r *api.ReportAgent, agents int, made madeIn) {
	switch {
	case r.Worktree == "":
		r.Blind = "it works in no repository that is seen"
		return
	case agents > 1:
		r.Blind = fmt.Sprintf("%d agents share its worktree", agents)
		return
	}
	subjects, more, err := made(r.Worktree)
	if err != nil {
		r.Blind = fleet.Line(err.Error(), 200)
		return
	}
	n := len(subjects)
	r.Commits = &n
	if more {
		r.Blind = "there may be more"
	}
	for _, s := range subjects[:min(n, madeShown)] {
		r.Made = append(r.Made, fleet.Redact(fleet.Line(s, 120)))
	}
}
