package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// GoneQueues names the merge queues that are not configured any more and of which items, or groups, are not
// over, in the order of their names.
func GoneQueues(configured []fleet.MergeQueue, all fleet.Records) (names []string) {
	add := func(queue string) {
		there := slices.ContainsFunc(configured, func(q fleet.MergeQueue) bool { return q.Name == queue })
		if !there && !slices.Contains(names, queue) {
			names = append(names, queue)
		}
	}
	for i := range all.Merges {
		if !all.Merges[i].Over() {
			add(all.Merges[i].Queue)
		}
	}
	for i := range all.MergeGroups {
		if !all.MergeGroups[i].Over() {
			add(all.MergeGroups[i].Queue)
		}
	}
	slices.Sort(names)
	return names
}

// QueueAsItWas is a queue as the newest action on one of its groups had it; only its name, where none is
// remembered.
func QueueAsItWas(past fleet.Past, name string) fleet.MergeQueue {
	q, since := fleet.MergeQueue{Name: name}, fleet.Instant{}
	for i := range past.Actions {
		a := &past.Actions[i]
		if t := a.Target.Merge; t != nil && t.Queue.Name == name && !a.PlannedAt.Before(since) {
			q, since = t.Queue, a.PlannedAt
		}
	}
	return q
}

// MergeLeftovers are the worktrees of a queue's groups that are not cleared yet.
func MergeLeftovers(all fleet.Records, queue string) (tops []string) {
	for i := range all.MergeGroups {
		if g := &all.MergeGroups[i]; g.Queue == queue && g.Decided() && !g.Over() && g.Worktree != "" {
			tops = append(tops, g.Worktree)
		}
	}
	return tops
}
