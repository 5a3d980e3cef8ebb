package ledger

import "custos/internal/fleet"

// begun adds what is on record of how far the ledger's own work has come.
func (f facts) begun(w *fleet.WorkFacts, own *fleet.WorkItem) {
	w.Review, w.Tries, w.Spent, w.Ends = own.Review != nil, own.Tries, own.Spent, own.Ends
	w.HandedIn = f.handed[own.Ref()]
	if own.State != fleet.WorkTaken || own.Person {
		return
	}
	w.Dispatched = own.Tries > 0
	if at := claimed(f.past.Records.Mails, own); !at.IsZero() {
		w.Claimed = max(1, f.age(at)) // it has, if only just now
	}
}

// HandedIn says whether a branch for a piece of work is in a merge queue, and waits for the queue or a person: one that
// conflicts or failed is back with its author.
func HandedIn(all fleet.Records, r fleet.Ref) bool { return handedIn(all)[r] }

// handedIn is all work of which that is so.
func handedIn(all fleet.Records) map[fleet.Ref]bool {
	var list map[fleet.Ref]bool
	for n := range all.Merges {
		if i := &all.Merges[n]; i.State == fleet.MergeWaiting || i.State == fleet.MergeHeld {
			for _, r := range i.Work {
				if list == nil {
					list = map[fleet.Ref]bool{}
				}
				list[r] = true
			}
		}
	}
	return list
}

// claimed is when the agent that has a piece of work said last that it is done: by a mail about it, or about nothing else,
// since it has that. Zero when it did not.
func claimed(mails []fleet.Mail, w *fleet.WorkItem) (at fleet.Instant) {
	for i := range mails {
		m := &mails[i]
		self, isAgent := fleet.AgentOf(m.From)
		if isAgent && self == w.Agent && m.Type == fleet.MailWorkerDone && (m.About == "" || m.About == w.ID) && !m.At.Before(w.Since) {
			at = m.At
		}
	}
	return at
}
