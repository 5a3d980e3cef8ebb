package ledger

import "custos/internal/fleet"

// Review is the newest review of an item, at the commit that it has now; nil when there is none.
func (b *MergeBook) Review(i *fleet.MergeItem) *fleet.WorkItem {
	if blocked := b.reviews[fleet.MergeMember{Commit: i.Commit}]; blocked != nil { // under whatever name
		return blocked
	}
	return b.reviews[fleet.MergeMember{ID: i.ID, Commit: i.Commit}]
}

func reviewsOf(queue string, all []fleet.WorkItem) map[fleet.MergeMember]*fleet.WorkItem {
	list := map[fleet.MergeMember]*fleet.WorkItem{}
	for n := range all {
		if r := all[n].Review; r != nil {
			list[fleet.MergeMember{ID: r.Item, Commit: r.Commit}] = &all[n]
			if r.Verdict == fleet.ReviewBlocked && r.Queue == queue {
				list[fleet.MergeMember{Commit: r.Commit}] = &all[n]
			}
		}
	}
	return list
}

// Unreviewed says why an item is not tested before somebody has read it; "" where its queue asks for no review, and where it
// was approved, or a person has said that it goes without.
func (b *MergeBook) Unreviewed(i *fleet.MergeItem) string {
	if b.Queue.Review == "" || i.Reviewed == i.Commit {
		return ""
	}
	w := b.Review(i)
	switch {
	case w == nil:
		return "it is to be reviewed"
	case w.Review.Verdict == fleet.ReviewApproved:
		return ""
	case w.Review.Verdict == fleet.ReviewBlocked:
		return "review " + w.ID + " has found what keeps it from being merged"
	case w.State == fleet.WorkClosed:
		return "its review " + w.ID + " was closed and says nothing: custos work reopen " + w.ID + ", or custos merge release " + i.ID
	case w.State == fleet.WorkTaken:
		return "it waits for review " + w.ID + ", which " + w.Agent + " has"
	}
	return "it waits for review " + w.ID + ", which nobody has yet"
}
