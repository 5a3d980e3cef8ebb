package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// isStuck says whether an item waits for its author: it conflicts, or its gates fail.
func isStuck(i *fleet.MergeItem) bool {
	return i.State == fleet.MergeConflict || i.State == fleet.MergeFailed
}

// mergeWhy is why an item is not merged, with the files that conflict.
func mergeWhy(i *fleet.MergeItem) string {
	if len(i.Files) == 0 {
		return i.Why
	}
	return i.Why + " (" + strings.Join(i.Files, ", ") + ")"
}

// Resolution is the work that is to bring in an item, at the commit that it has now; nil when there is none.
func (b *MergeBook) Resolution(i *fleet.MergeItem) *fleet.WorkItem {
	return b.resolving[fleet.MergeMember{ID: i.ID, Commit: i.Commit}]
}

func resolutionsOf(queue string, all []fleet.WorkItem) map[fleet.MergeMember]*fleet.WorkItem {
	list := map[fleet.MergeMember]*fleet.WorkItem{}
	for n := range all {
		if r := all[n].Resolves; r != nil && r.Queue == queue {
			list[fleet.MergeMember{ID: r.Item, Commit: r.Commit}] = &all[n]
		}
	}
	return list
}

// IsElsewhere says whether the work that an item is for is with somebody else already, or will be; or is to bring another item in.
func IsElsewhere(i *fleet.MergeItem, p fleet.Pass) bool {
	return slices.ContainsFunc(i.Work, func(r fleet.Ref) bool {
		w := Work(p.Past.Records, r)
		switch {
		case w != nil && w.Resolves != nil: // what is to bring another one in is not brought in itself: that would have no end
			return true
		case w == nil || w.State == fleet.WorkClosed:
			return false
		case w.State == fleet.WorkTaken:
			return w.Agent != i.Agent
		}
		role := fleet.Find(p.Policy.Roles, func(o *fleet.Role) bool { return o.Name == w.Role })
		return !w.Spent && (w.Team != "" || role != nil && role.Takes != "")
	})
}

// AskResolve returns the work that is to bring in an item, as it is at its commit; the same again has the same key. Whoever
// does it begins where the branch of that item stands.
func AskResolve(q fleet.MergeQueue, i fleet.MergeItem, at fleet.Instant) (fleet.WorkItem, error) {
	body := fmt.Sprintf("Branch %s (%s) is not merged into %s: %s.\n\nBring it in, on a branch of your own: merge %s, keep what both sides meant, and change nothing else. What you hand in is tested, and reviewed where that is asked for, like any other branch.",
		i.Source, i.ID, q.Target, strings.TrimRight(mergeWhy(&i), "."), q.Target)
	w, err := AddWork(fleet.WorkItem{Head: fleet.Head{Key: "resolve/" + i.ID + "/" + i.Commit}, Title: fleet.Line(strings.TrimSuffix("Bring in "+i.Source+": "+i.Title, ": "), longestTitle), Body: body,
		Project: i.Project, Role: q.Resolve, Priority: i.Priority}, fleet.ByCustos, at)
	w.Resolves, w.Left, w.LeftBy = &fleet.Resolved{Queue: q.Name, Item: i.ID, Commit: i.Commit}, i.Source, i.Agent
	return w, err
}

// resolutionWords say who brings an item in that is stuck; "" where nobody is to.
func (b *MergeBook) resolutionWords(i *fleet.MergeItem) string {
	w := b.Resolution(i)
	switch {
	case w == nil || !isStuck(i):
		return ""
	case w.State == fleet.WorkTaken:
		return "; " + w.Agent + " is to bring it in (" + w.ID + ")"
	case w.State == fleet.WorkClosed:
		return "; " + w.ID + ", by which it was to be brought in, is closed"
	case w.Spent:
		return "; " + w.ID + ", by which it was to be brought in, was handed out in vain"
	}
	return "; " + w.ID + " is to bring it in, and nobody has it yet"
}

// Resolved says what follows for an item (nil: it is not known any more) from work by which it was to be brought in: that it is
// tried again, since that work is merged; or that nobody needs the work, since the item is not stuck, or at another commit.
func Resolved(i *fleet.MergeItem, w *fleet.WorkItem) (again, needless bool) {
	same := i != nil && i.Commit == w.Resolves.Commit
	switch {
	case i == nil || same && i.State == fleet.MergeWaiting:
		return false, false
	case same && isStuck(i):
		return w.State == fleet.WorkClosed && w.Outcome == Completed && i.Since.Before(w.Since), false
	}
	return false, w.State != fleet.WorkClosed
}
