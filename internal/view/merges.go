package view

import (
	"cmp"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// MergeQueue is a merge queue as it is shown.
func MergeQueue(b *ledger.MergeBook) api.MergeQueue {
	v := api.MergeQueue{Name: b.Queue.Name, Repo: b.Queue.Repo, Target: b.Queue.Target, Remote: b.Queue.Remote, Project: b.Queue.Project, Broken: b.Broken(),
		Mode: cmp.Or(string(b.Queue.Mode), "own"), Gates: []string{}, Waiting: len(b.Waiting()), Unready: len(b.Unready()), Batch: b.Batch()}
	for _, g := range b.Queue.Gates {
		v.Gates = append(v.Gates, g.Name)
	}
	v.Held, v.HeldBy = b.Holds()
	if g := b.Open(); g != nil {
		v.Group = g.ID
	}
	return v
}

// GoneQueue is a merge queue that is not configured any more as it is shown: how many items of it are not over, and
// which worktrees of its groups are left.
func GoneQueue(past fleet.Past, name string) api.MergeQueue {
	v := api.MergeQueue{Name: name, Gone: true, Repo: ledger.QueueAsItWas(past, name).Repo, Gates: []string{}, Left: ledger.MergeLeftovers(past.Records, name)}
	for i := range past.Records.Merges {
		if m := &past.Records.Merges[i]; m.Queue == name && !m.Over() {
			v.Waiting++
		}
	}
	return v
}

// Merge is an item of a merge queue as it is shown; of a queue that is not configured any more nothing follows.
func Merge(m *fleet.MergeItem, b *ledger.MergeBook) api.Merge {
	v := api.Merge{ID: m.ID, Queue: m.Queue, Source: m.Source, Commit: m.Commit, Title: m.Title, Project: m.Project, Work: refs(m.Work), Agent: m.Agent, Priority: string(m.Priority),
		Needs: m.Needs, State: string(m.State), Why: m.Why, Files: m.Files, Merged: m.Merged, By: m.By, At: m.At.Wall.UTC(), Since: m.Since.Wall.UTC()}
	switch {
	case m.Over():
	case b == nil:
		v.Why = "custos.toml has no [merge." + m.Queue + "] any more"
	default:
		v.Why, v.Position = b.Why(m), b.Position(m.ID)
	}
	return v
}

// MergeGroup is what was tested together as it is shown.
func MergeGroup(g fleet.MergeGroup) api.MergeGroup {
	v := api.MergeGroup{ID: g.ID, Items: []string{}, State: string(g.State), Base: g.Base, Commit: g.Commit, Why: g.Why, Run: g.Run, Runs: g.Runs, Failed: g.Failed, Flaky: g.Flaky,
		At: g.At.Wall.UTC(), Since: g.Since.Wall.UTC()}
	for _, m := range g.Items {
		v.Items = append(v.Items, m.ID)
	}
	for _, s := range g.Settled {
		v.Settled = append(v.Settled, api.MergeSettled{Item: s.ID, Again: s.Again, Recorded: s.Recorded})
	}
	v.More, v.Notes = g.More, g.Notes
	for _, t := range g.Tests {
		v.Tests = append(v.Tests, api.MergeTest(t))
	}
	return v
}

func refs(list []fleet.Ref) (out []string) {
	for _, r := range list {
		out = append(out, string(r))
	}
	return out
}
