package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// mostMergeNeeds is how many items one may wait for.
const mostMergeNeeds = 50

// Merge finds an item of a merge queue; nil when there is none.
func Merge(all fleet.Records, id string) *fleet.MergeItem {
	return fleet.Find(all.Merges, func(i *fleet.MergeItem) bool { return i.ID == id })
}

// MergeOf finds the newest item of a branch in a queue that is not over; nil when there is none.
func MergeOf(all fleet.Records, queue, source string) *fleet.MergeItem {
	for n := len(all.Merges) - 1; n >= 0; n-- {
		if i := &all.Merges[n]; i.Queue == queue && i.Source == source && !i.Over() {
			return i
		}
	}
	return nil
}

// AddMerge returns an item as it is first written down, or, of a branch that is in the
// queue, as that is with what is new: at another commit it waits again.
func AddMerge(all fleet.Records, i fleet.MergeItem, by string, at fleet.Instant) (fleet.MergeItem, error) {
	const what = "add to the merge queue"
	if i.Priority == "" {
		i.Priority = fleet.P3
	}
	_, err := fleet.ParsePriority(string(i.Priority))
	switch {
	case err != nil:
		return i, Unfit(what, "%v", err)
	case i.Source == "" || i.Commit == "":
		return i, Unfit(what, "it names no branch, or no commit of it")
	case len(i.Needs) > mostMergeNeeds:
		return i, Unfit(what, "it waits for %d items, %d are the most", len(i.Needs), mostMergeNeeds)
	}
	if err := mergeWork(all, i.Work, by); err != nil {
		return i, err
	}
	if was := MergeOf(all, i.Queue, i.Source); was != nil {
		return addedAgain(all, *was, i, by, at)
	}
	if self, is := fleet.AgentOf(by); is {
		i.Agent = self
	}
	i.Title = fleet.Line(i.Title, longestTitle)
	i.State, i.By, i.At, i.Since = fleet.MergeWaiting, by, at, at
	i = withPulls(i)
	return i, mergeNeeds(all, i)
}

// mergeWork refuses work of this ledger that does not exist, that is closed, and that another agent
// has: it would be closed with the merge.
func mergeWork(all fleet.Records, refs []fleet.Ref, by string) error {
	const what = "add to the merge queue"
	self, isAgent := fleet.AgentOf(by)
	for _, r := range refs {
		w := Work(all, r)
		switch of := r.Tracker(); {
		case of == fleet.TrackerUnknown:
			return Unfit(what, "no tracker is known that keeps %s", fleet.Line(string(r), 80))
		case of != fleet.TrackerOwn: // MayCloseByMerge has looked at it
		case w == nil:
			return Unfit(what, "there is no work %s", fleet.Line(string(r), 80))
		case w.State == fleet.WorkClosed:
			return Unfit(what, "work %s is closed: custos work reopen %s", r, r)
		case isAgent && w.Agent != "" && w.Agent != self:
			return Unfit(what, "agent %s has %s", fleet.Line(w.Agent, 80), r)
		case isAgent && w.Agent != self && w.By != by:
			return Unfit(what, "agent %s does not have %s, and did not write it down", fleet.Line(self, 80), r)
		}
	}
	return nil
}

// addedAgain is a branch that is in the queue, as somebody adds it once more.
func addedAgain(all fleet.Records, was, i fleet.MergeItem, by string, at fleet.Instant) (fleet.MergeItem, error) {
	if err := mergeOwner(was, "add to the merge queue", by); err != nil {
		return was, err
	}
	if was.State == fleet.MergeHeld {
		return was, Unfit("add to the merge queue", "%s is held: %s", was.ID, was.Why)
	}
	out := was
	if len(i.Work) > 0 { // who names what is closed has it closed
		out.Work, out.By = i.Work, by
		out = withPulls(out)
	}
	out.Needs = slices.DeleteFunc(slices.Clone(was.Needs), func(id string) bool { // who adds it anew wants it without
		n := Merge(all, id)
		return n != nil && n.State == fleet.MergeWithdrawn
	})
	if len(i.Needs) > 0 {
		out.Needs = i.Needs
	}
	out.Priority = i.Priority
	if i.Commit != was.Commit {
		out = Repin(out, i.Commit, at)
	}
	return out, mergeNeeds(all, out)
}

// Repin returns an item at another commit of its branch: what was found of it counts no more.
func Repin(i fleet.MergeItem, commit string, at fleet.Instant) fleet.MergeItem {
	i.Commit, i.State, i.Why, i.Files, i.Since = commit, fleet.MergeWaiting, "", nil, at
	return i
}

// mergeOwner refuses an agent what is another's.
func mergeOwner(i fleet.MergeItem, what, by string) error {
	self, isAgent := fleet.AgentOf(by)
	if isAgent && (isNameless(self) || i.Agent != self) {
		return Unfit(what, "%s was added by %s", i.ID, fleet.Line(strings.TrimPrefix(i.By, "agent/"), 80))
	}
	return nil
}

// mergeNeeds refuses what an item cannot wait for: what is no item of its queue, and itself,
// by way of others, too.
func mergeNeeds(all fleet.Records, i fleet.MergeItem) error {
	for _, id := range i.Needs {
		n := Merge(all, id)
		switch {
		case n == nil:
			return Unfit("add to the merge queue", "there is no item %s to wait for", fleet.Line(id, 40))
		case n.Queue != i.Queue:
			return Unfit("add to the merge queue", "%s is in another queue, %s", id, n.Queue)
		case n.State == fleet.MergeWithdrawn:
			return Unfit("add to the merge queue", "%s was withdrawn", id)
		case mergeWaitsFor(all, id, i.ID, map[string]bool{}):
			return Unfit("add to the merge queue", "%s would wait for itself, by way of %s", i.ID, id)
		}
	}
	return nil
}

// mergeWaitsFor says whether an item waits for another, by way of others, too.
func mergeWaitsFor(all fleet.Records, id, other string, seen map[string]bool) bool {
	if id == other && id != "" {
		return true
	}
	i := Merge(all, id)
	if i == nil || seen[id] {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(i.Needs, func(n string) bool { return mergeWaitsFor(all, n, other, seen) })
}

// HoldMerge returns an item as a person holds it: it is not merged until it is released.
func HoldMerge(i fleet.MergeItem, why, by string, at fleet.Instant) (fleet.MergeItem, error) {
	switch {
	case !fleet.IsPerson(by):
		return i, Unfit("hold "+i.ID, "it takes a person")
	case i.Over():
		return i, Unfit("hold "+i.ID, "it is %s", i.State)
	}
	i.State, i.Why, i.Since = fleet.MergeHeld, fleet.Line("held by "+by+withReason(why), 400), at
	return i, nil
}

func withReason(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// ReleaseMerge returns an item as it waits again: one that was held, or that failed or
// conflicted, to be tried once more as it is. What it would lose it may lose then, at this commit.
func ReleaseMerge(i fleet.MergeItem, by string, at fleet.Instant) (fleet.MergeItem, error) {
	switch {
	case !fleet.IsPerson(by):
		return i, Unfit("release "+i.ID, "it takes a person; a new commit that is added is tried")
	case i.Over():
		return i, Unfit("release "+i.ID, "it is %s", i.State)
	case i.State == fleet.MergeWaiting:
		i.Reviewed = i.Commit // it waits for no review then
		return i, nil
	}
	if strings.HasPrefix(i.Why, fleet.MergeLoses) { // whoever releases it has read what
		i.Accepted = i.Commit
	}
	if strings.HasPrefix(i.Why, fleet.MergeBlocked) {
		i.Reviewed = i.Commit
	}
	return Repin(i, i.Commit, at), nil
}

// WithdrawMerge returns an item as it is taken back.
func WithdrawMerge(i fleet.MergeItem, why, by string, at fleet.Instant) (fleet.MergeItem, error) {
	if err := mergeOwner(i, "withdraw "+i.ID, by); err != nil {
		return i, err
	}
	switch i.State {
	case fleet.MergeWithdrawn:
		return i, nil
	case fleet.MergeMerged:
		return i, Unfit("withdraw "+i.ID, "it is merged as %.12s", i.Merged)
	case fleet.MergeHeld:
		if _, isAgent := fleet.AgentOf(by); isAgent {
			return i, Unfit("withdraw "+i.ID, "it is held, and a person decides: %s", i.Why)
		}
	}
	i.State, i.Why, i.Since = fleet.MergeWithdrawn, fleet.Line("withdrawn by "+by+withReason(why), 400), at
	return i, nil
}

// HoldQueue returns the hold of a merge queue: nothing lands until a person releases it.
func HoldQueue(all fleet.Records, queue, why, by string, at fleet.Instant) (fleet.MergeHold, error) {
	h := mergeHold(all, queue)
	if _, isAgent := fleet.AgentOf(by); isAgent {
		return h, Unfit("hold queue "+queue, "it takes a person")
	}
	if h.Held && (h.Why != noReason || why == "") {
		return h, nil
	}
	h.Held, h.Why, h.By, h.At = true, cmp.Or(fleet.Line(why, 400), noReason), by, at
	return h, nil
}

// noReason is why a queue is held of which nothing else is said: held it is.
const noReason = "no reason was given"

// ReleaseQueue returns the hold of a merge queue as it is lifted, in spite of the alerts up
// to a number, too.
func ReleaseQueue(all fleet.Records, queue, by string, lifted int64, at fleet.Instant) (fleet.MergeHold, error) {
	h := mergeHold(all, queue)
	if !fleet.IsPerson(by) {
		return h, Unfit("release queue "+queue, "it takes a person")
	}
	if !h.Held && h.Lifted >= lifted {
		return h, nil
	}
	h.Held, h.Why, h.By, h.At, h.Lifted = false, "", by, at, max(h.Lifted, lifted)
	return h, nil
}

// mergeHold is what is on record of a queue's being held.
func mergeHold(all fleet.Records, queue string) fleet.MergeHold {
	if h := fleet.Find(all.MergeHolds, func(h *fleet.MergeHold) bool { return h.Queue == queue }); h != nil {
		return *h
	}
	return fleet.MergeHold{Head: fleet.Head{Key: queue}, Queue: queue}
}

// MergeLanded returns an item as its merge is in the target, and the work that is closed by it.
func MergeLanded(all fleet.Records, i fleet.MergeItem, commit string, at fleet.Instant) (fleet.MergeItem, []fleet.WorkItem) {
	i.State, i.Merged, i.Why, i.Files, i.Since = fleet.MergeMerged, commit, "", nil, at
	var closed []fleet.WorkItem
	for _, r := range i.Work {
		w := Work(all, r)
		if w == nil || w.State == fleet.WorkClosed {
			continue
		}
		if done, err := CloseWork(*w, "", MergedAs(i), fleet.ByCustos, at); err == nil {
			closed = append(closed, done)
		}
	}
	return i, closed
}

// MergedAs says as which commit an item is merged, as far as that is known.
func MergedAs(i fleet.MergeItem) string {
	if i.Merged == "" { // by its forge, which did not tell
		return "merged by " + i.ID
	}
	return fmt.Sprintf("merged as %.12s by %s", i.Merged, i.ID)
}
