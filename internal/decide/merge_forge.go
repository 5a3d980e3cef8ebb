package decide

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// remedyOfForges is how often a forge is asked to merge one pull request: one that never takes it needs a person.
func remedyOfForges() fleet.Remedy {
	const minute = fleet.Duration(60e9)
	return fleet.Remedy{Mode: fleet.ModeAuto, Cooldown: minute, Attempts: fleet.Attempts{Max: 5, In: 24 * 60 * minute}}
}

// askForge wishes that the forge of a queue merges what is next: that the queue is there, in this mode, is what asks for it.
func (p *pass) askForge(b *ledger.MergeBook) {
	if b.Queue.Mode == fleet.MergeOwn {
		return
	}
	if i, pull := toDequeue(b, p.past, p.snap); i != nil {
		p.wishAtForge(i, pull, ledger.LeaveForge, i.ID+" is not to be merged any more")
	}
	if i, pull := nextAtForge(b, p.past, p.snap); i != nil {
		p.wishAtForge(i, pull, ledger.AskForge, i.ID+" is next in merge queue "+b.Queue.Name)
	}
}

func (p *pass) wishAtForge(i *fleet.MergeItem, pull *fleet.PullRequest, do, why string) {
	of, one := fleet.Subject{Kind: fleet.KindMerge, Name: i.ID}, *pull
	f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleMerge, Subject: of}, Priority: fleet.P3, Since: i.Since, Firing: true, Fresh: true,
		Summary: why, Parts: []fleet.PartName{fleet.PartForge}}
	r := &request{finding: f, remedy: remedyOfForges(), merged: i, queued: true,
		wish: &fleet.Wish{Do: do, Subject: fleet.Subject{Kind: fleet.KindPull, Name: pull.Name}, Target: fleet.Target{Pull: &one}}}
	p.weighIn(r)
	p.judge(r)
}

// nextAtForge is the item that the forge of a queue is to be asked to merge next, and its pull request, as both are seen now; nil
// while one is being merged, and when none may be. One at a time: the checks of the next one may say otherwise once its target
// has moved.
func nextAtForge(b *ledger.MergeBook, past *fleet.Past, snap *fleet.Snapshot) (*fleet.MergeItem, *fleet.PullRequest) {
	if held, _ := b.Holds(); held != "" || b.Queue.Mode != fleet.MergeForge || isAsking(b, past) {
		return nil, nil
	}
	waiting := slices.Clone(b.Waiting())
	if len(waiting) == 0 {
		return nil, nil
	}
	t := ledger.NewTrackers(*past, *snap)
	slices.SortStableFunc(waiting, func(x, y fleet.MergeItem) int { return refusedBefore(past, &x) - refusedBefore(past, &y) })
	for n := range waiting {
		i := &waiting[n]
		now := ledger.SeeAtForge(t, b.Queue, *i) // that it was ready was found a pass ago
		p := fleet.Find(snap.Forge.Value.Pulls, func(p *fleet.PullRequest) bool { return p.Name == now.Pull })
		if p != nil && p.Branch == i.Source && p.Head == i.Commit && now.IsReady() && b.Unmet(i, nil) == "" {
			return i, p
		}
	}
	return nil, nil
}

// refusedBefore is 1 for an item that its forge has refused: the others need not wait for what that wants.
func refusedBefore(past *fleet.Past, i *fleet.MergeItem) int {
	if r := ledger.AskedToMerge(*past, i); r != nil && r.Status != fleet.ResultDone && r.Status != fleet.ResultUnneeded {
		return 1
	}
	return 0
}

// isAsking says whether an item of the queue is being merged: the forge is asked, or has merged it and that is not seen yet.
func isAsking(b *ledger.MergeBook, past *fleet.Past) bool {
	for n := range past.Actions {
		a := &past.Actions[n]
		if a.Do != ledger.AskForge {
			continue
		}
		i := b.Item(a.For.Subject.Name)
		switch {
		case i == nil || i.Over():
		case a.Open():
			return true
		case a.Result != nil && a.Result.Merge != nil && a.Result.Merge.Commit != "" && i.State == fleet.MergeWaiting && i.Waits != "":
			return true
		}
	}
	return false
}

// toDequeue is an item that waits in the forge's own queue and is not to be merged any more, since it or its queue is held, or it
// was taken back; nil when there is none.
func toDequeue(b *ledger.MergeBook, past *fleet.Past, snap *fleet.Snapshot) (*fleet.MergeItem, *fleet.PullRequest) {
	held, _ := b.Holds()
	queued := queuedAtForge(past.Actions)
	for n := range past.Records.Merges {
		i := &past.Records.Merges[n]
		if i.Queue != b.Queue.Name || !queued[i.ID] || i.State == fleet.MergeMerged || held == "" && i.State == fleet.MergeWaiting {
			continue
		}
		pull := fleet.Find(snap.Forge.Value.Pulls, func(p *fleet.PullRequest) bool {
			return slices.Contains(i.Work, fleet.Ref(p.Name)) && p.Branch == i.Source
		})
		if pull != nil && snap.Forge.Fresh() {
			return i, pull
		}
	}
	return nil, nil
}

// queuedAtForge are the items of which the last thing that was asked of their forge is that they wait in its own queue.
func queuedAtForge(actions []fleet.ActionRecord) map[string]bool {
	newest, queued := map[string]fleet.Instant{}, map[string]bool{}
	for n := range actions { // their order says nothing
		a := &actions[n]
		if id := a.For.Subject.Name; (a.Do == ledger.AskForge || a.Do == ledger.LeaveForge) && a.Result != nil && a.Result.Status == fleet.ResultDone && !a.PlannedAt.Before(newest[id]) {
			newest[id], queued[id] = a.PlannedAt, a.Do == ledger.AskForge && a.Result.Merge != nil && a.Result.Merge.Commit == ""
		}
	}
	for id, is := range queued {
		if !is {
			delete(queued, id)
		}
	}
	return queued
}
