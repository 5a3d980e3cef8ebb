package merge_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/decide/follow/merge"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// forgePass is a pass over a queue whose target the forge moves, with one item and its pull request, whose checks have passed.
func forgePass(change func(*fleet.PullRequest, *fleet.MergeItem)) fleet.Pass {
	i := fleet.MergeItem{Head: fleet.Head{ID: "mq1", Revision: 1}, Queue: "q", Source: "retry", Commit: "c1", State: fleet.MergeWaiting, Priority: fleet.P3, Agent: "b1", Since: noon, At: noon, Work: []fleet.Ref{"w1"}}
	p := fleet.PullRequest{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured, Agent: "b1", Base: "main", Branch: "retry", Head: "c1", Checks: fleet.Known("success"), Conflict: fleet.Known(false), Review: fleet.Known("none"), Age: fleet.Known(fleet.Duration(time.Hour))}
	change(&p, &i)
	w := fleet.WorkItem{Head: fleet.Head{ID: "w1", Revision: 1}, Title: "retry", State: fleet.WorkTaken, Agent: "b1", Priority: fleet.P3}
	pass := passOf(fleet.Records{Merges: []fleet.MergeItem{i}, Work: []fleet.WorkItem{w}})
	q := &pass.Policy.Merges[0]
	q.Mode, q.Project, q.Digest = fleet.MergeForge, "shop", ""
	pass.Snapshot.Forge.Sight, pass.Snapshot.Forge.Value.Pulls = fleet.Sight{Status: fleet.StatusOK, At: noon}, []fleet.PullRequest{p}
	return pass
}

func asked(status fleet.ResultStatus, ago time.Duration, commit string) fleet.ActionRecord {
	return fleet.ActionRecord{Action: fleet.Action{Do: ledger.AskForge, For: fleet.AlertKey{Rule: "merge", Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq1"}}},
		Stage: fleet.StageEnded, PlannedAt: noon, Result: &fleet.Result{Status: status, Why: "the forge says no", Ended: noon.Add(-ago), Merge: &fleet.MergeOutcome{Commit: commit}}}
}

// Nothing is built or tested here; an item finds its pull request, and what its checks or a conflict say is told to its author.
func TestWhatAForgeTestsItself(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fleet.PullRequest, *fleet.MergeItem)
		state  fleet.MergeState
		mails  int
	}{
		"green":    {func(*fleet.PullRequest, *fleet.MergeItem) {}, fleet.MergeWaiting, 0},
		"failed":   {func(p *fleet.PullRequest, _ *fleet.MergeItem) { p.Checks = fleet.Known("failure") }, fleet.MergeFailed, 1},
		"conflict": {func(p *fleet.PullRequest, _ *fleet.MergeItem) { p.Conflict = fleet.Known(true) }, fleet.MergeConflict, 1},
		"held": {func(p *fleet.PullRequest, i *fleet.MergeItem) {
			p.Checks, i.State = fleet.Known("failure"), fleet.MergeHeld
		}, fleet.MergeHeld, 0},
	} {
		got := merge.Follow(forgePass(c.change)).Records
		if len(got.Merges) != 1 || got.Merges[0].State != c.state || len(got.Merges[0].Work) != 2 || got.Merges[0].Work[1] != "shop!7" || len(got.Mails) != c.mails || len(got.MergeGroups) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a forge was asked to merge waits for that; what it has refused is said; and after half an hour it is asked again.
func TestWhatAForgeWasAsked(t *testing.T) {
	for name, c := range map[string]struct {
		asked      fleet.ActionRecord
		waits, why string
	}{
		"merged":  {asked(fleet.ResultDone, time.Minute, "m"), "its forge was asked to merge shop!7", ""},
		"queued":  {asked(fleet.ResultDone, time.Minute, ""), "its forge has shop!7 in its own queue", ""},
		"long":    {asked(fleet.ResultDone, time.Hour, ""), "", ""},
		"refused": {asked(fleet.ResultFailed, time.Minute, ""), "", "the forge says no"},
	} {
		p := forgePass(func(*fleet.PullRequest, *fleet.MergeItem) {})
		p.Past.Actions = []fleet.ActionRecord{c.asked}
		got := merge.Follow(p).Records.Merges
		if len(got) != 1 || got[0].Waits != c.waits || got[0].Why != c.why {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What is merged there is merged, whoever did it and whatever was said of it here; its work is closed, and its author told. In a
// queue that only watches, too.
func TestWhatAForgeHasMerged(t *testing.T) {
	for _, mode := range []fleet.MergeMode{fleet.MergeForge, fleet.MergeWatch} {
		p := forgePass(func(_ *fleet.PullRequest, i *fleet.MergeItem) {
			i.State, i.Work = fleet.MergeHeld, append(i.Work, "shop!7")
		})
		p.Policy.Merges[0].Mode = mode
		p.Snapshot.Forge.Value.Pulls, p.Snapshot.Forge.Value.Ended = nil, []fleet.EndedPull{{Name: "shop!7", Merged: true, Ended: fleet.Known(fleet.Duration(time.Minute))}}
		got := merge.Follow(p).Records
		if len(got.Merges) != 1 || got.Merges[0].State != fleet.MergeMerged || len(got.Work) != 1 || got.Work[0].Why != "merged by mq1" || len(got.Mails) != 1 || !strings.Contains(got.Mails[0].Body, "by its forge") {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}

// What waited for its pull request waits no more for that where Custos merges itself again.
func TestBackToItsOwnMode(t *testing.T) {
	p := forgePass(func(_ *fleet.PullRequest, i *fleet.MergeItem) { i.Waits = "no pull request of retry is seen" })
	p.Policy.Merges[0].Mode, p.Snapshot.Forge.Status = fleet.MergeOwn, fleet.StatusAbsent
	if got := merge.Follow(p).Records.Merges; len(got) != 1 || got[0].Waits != "" {
		t.Errorf("%+v", got)
	}
}

// That another head was merged than was added is on record.
func TestAnotherHeadWasMerged(t *testing.T) {
	p := forgePass(func(_ *fleet.PullRequest, i *fleet.MergeItem) { i.Work = append(i.Work, "shop!7") })
	p.Snapshot.Forge.Value.Pulls, p.Snapshot.Forge.Value.Ended = nil, []fleet.EndedPull{{Name: "shop!7", Merged: true, Base: "main", Head: "c2", Ended: fleet.Known(fleet.Duration(time.Minute))}}
	if got := merge.Follow(p).Records.Merges; len(got) != 1 || got[0].State != fleet.MergeMerged || got[0].Commit != "c2" || !strings.Contains(got[0].Why, "and not at c1") {
		t.Errorf("%+v", got)
	}
}

// A queue that comes into another mode gives up what it was testing.
func TestAnotherModeGivesUpTheGroup(t *testing.T) {
	p := forgePass(func(*fleet.PullRequest, *fleet.MergeItem) {})
	p.Past.Records.MergeGroups = []fleet.MergeGroup{{Head: fleet.Head{ID: "mg1", Revision: 1}, Queue: "q", Gates: "d", State: fleet.GroupTesting, At: noon, Since: noon, Items: []fleet.MergeMember{{ID: "mq1", Commit: "c1"}}}}
	if got := merge.Follow(p).Records.MergeGroups; len(got) != 1 || got[0].State != fleet.GroupDropped {
		t.Errorf("%+v", got)
	}
}
