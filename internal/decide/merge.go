package decide

import (
	"cmp"
	"slices"
	"strconv"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// The actions on merge groups.
const (
	doBuildMerge = "build-merge"
	doLandMerge  = "land-merge"
	doClearMerge = "clear-merge"
)

// ruleMerge stands for a rule in the key of what a merge queue asks for.
const ruleMerge = "merge"

// carryMerges judges what the merge queues ask for.
func (p *pass) carryMerges() {
	for i := range p.policy.Merges {
		b := ledger.NewMergeBook(p.policy.Merges[i], *p.past, p.snap.At)
		for n := range b.Groups {
			p.carryGroup(b, &b.Groups[n])
		}
		p.askForge(b)
		for _, c := range ledger.MergeClosings(b.Queue, *p.past, *p.snap) {
			p.closeMerged(c)
		}
	}
	for _, name := range ledger.GoneQueues(p.policy.Merges, p.past.Records) {
		if q := ledger.QueueAsItWas(*p.past, name); q.Repo != "" { // else nobody knows whose worktrees they are
			b := ledger.NewMergeBook(q, *p.past, p.snap.At)
			for n := range b.Groups {
				p.clearGroup(b, &b.Groups[n])
			}
		}
	}
}

// clearGroup wishes that what was made for a group that is decided goes.
func (p *pass) clearGroup(b *ledger.MergeBook, g *fleet.MergeGroup) {
	if !g.Over() && g.Decided() && g.Worktree != "" && !p.isUnderWay(g) && p.isRunOver(g.Run) && !p.hasMade(doClearMerge, g) {
		p.judge(p.mergeRequest(b, g, doClearMerge, g.ID, "nothing of "+g.ID+" is needed any more: it is "+string(g.State)))
	}
}

// carryGroup wishes for what is next of a group: its commit and a worktree, the move of the
// target, or that what was made for it goes.
func (p *pass) carryGroup(b *ledger.MergeBook, g *fleet.MergeGroup) {
	held, _ := b.Holds()
	switch {
	case g.Over(), p.isUnderWay(g):
	case g.Decided():
		p.clearGroup(b, g)
	case b.Outdated(g) != "": // it is given up
	case g.State == fleet.GroupBuilding && held == "" && !p.hasMade(doBuildMerge, g):
		p.judge(p.mergeRequest(b, g, doBuildMerge, g.ID+"/"+strconv.Itoa(g.Runs+1), "it is next in merge queue "+b.Queue.Name))
	case g.State == fleet.GroupGreen && held == "" && b.UnseenPull(g) == "" && !p.hasMade(doLandMerge, g):
		p.judge(p.mergeRequest(b, g, doLandMerge, g.ID, "the gates have passed on "+g.ID))
	}
}

// isUnderWay says whether an action is under way on a group: what is next follows from its end.
func (p *pass) isUnderWay(g *fleet.MergeGroup) bool {
	return slices.ContainsFunc(p.past.Actions, func(a fleet.ActionRecord) bool {
		return a.Open() && a.Target.Merge != nil && a.Target.Merge.Group.ID == g.ID
	})
}

// isRunOver says whether nothing of a run goes on; of one that is on record no more nothing does.
func (p *pass) isRunOver(id string) bool {
	return !slices.ContainsFunc(p.past.Runs, func(r fleet.Run) bool { return r.ID == id && !r.IsOver() })
}

// hasMade says whether what a group needs now was done, and is only to be taken note of.
func (p *pass) hasMade(do string, g *fleet.MergeGroup) bool {
	return slices.ContainsFunc(p.past.Actions, func(a fleet.ActionRecord) bool {
		t := a.Target.Merge
		return a.Do == do && t != nil && t.Group.ID == g.ID && a.Result != nil && !a.PlannedAt.Before(g.Since) && isMade(do, a.Result)
	})
}

// isMade says whether a result says all that is to be known. That a target has moved, or takes
// nothing, is as good.
func isMade(do string, r *fleet.Result) bool {
	switch do {
	case doBuildMerge:
		return r.Status == fleet.ResultDone && r.Merge != nil
	case doLandMerge:
		return r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded || r.Merge != nil && r.Merge.Commit == ""
	}
	return r.Status == fleet.ResultDone || r.Status == fleet.ResultUnneeded
}

func (p *pass) mergeRequest(b *ledger.MergeBook, g *fleet.MergeGroup, do, subject, why string) *request {
	t := &fleet.MergeTarget{Queue: b.Queue, Group: *g, Unless: unless(b, g)}
	for _, m := range g.Items {
		if i := b.Item(m.ID); i != nil {
			t.Items = append(t.Items, *i)
		}
	}
	of := fleet.Subject{Kind: fleet.KindMerge, Name: g.ID}
	f := &fleet.Finding{AlertKey: fleet.AlertKey{Rule: ruleMerge, Subject: of}, Priority: fleet.P3, Since: g.At, Firing: true, Fresh: true, Summary: why}
	if do == doClearMerge { // what runs there is seen
		f.Parts = []fleet.PartName{fleet.PartRuns}
	}
	r := &request{finding: f, remedy: remedyOfRuns(), wish: &fleet.Wish{Do: do, Subject: fleet.Subject{Kind: fleet.KindMerge, Name: cmp.Or(subject, g.ID)}, Target: fleet.Target{Merge: t}}}
	p.weighIn(r)
	return r
}

// unless is the commit of the target on which an item is not built again: it fails there, and
// so do the gates without it.
func unless(b *ledger.MergeBook, g *fleet.MergeGroup) string {
	broken := b.Broken()
	if broken == "" || len(g.Items) != 1 || g.Commit != "" {
		return ""
	}
	i := b.Item(g.Items[0].ID)
	if i == nil {
		return ""
	}
	if alone := b.Alone(i); alone != nil && alone.Base == broken {
		return broken
	}
	return ""
}
