package merge_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/decide/follow/merge"
	"custos/internal/fleet"
)

// mergedPass is a pass over an item that was merged so long ago and names an issue of the author's, as the forge shows it.
func mergedPass(ago time.Duration, open fleet.Leaf[bool], change ...func(*fleet.MergeItem)) fleet.Pass {
	i := fleet.MergeItem{Head: fleet.Head{ID: "mq1", Revision: 1}, Queue: "q", Source: "retry", Commit: "a", Merged: "c", Agent: "dev", Priority: fleet.P3, State: fleet.MergeMerged, Work: []fleet.Ref{"shop#12"}, Since: noon.Add(-ago)}
	for _, c := range change {
		c(&i)
	}
	p := passOf(fleet.Records{Merges: []fleet.MergeItem{i}})
	p.Snapshot.Forge.Sight = fleet.Sight{Status: fleet.StatusOK, At: noon}
	p.Snapshot.Forge.Value.Issues = []fleet.Issue{{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Open: open, Agent: "dev"}}
	return p
}

// What is closed is noted, once; what is not is said with what holds it back, and after a while told to the author.
func TestWhatIsNotClosedYet(t *testing.T) {
	if out := merge.Follow(mergedPass(time.Minute, fleet.Known(false))); len(out.Records.Merges) != 1 || len(out.Records.Merges[0].Settled) != 1 || out.Records.Merges[0].Why != "" || len(out.Records.Mails) != 0 {
		t.Errorf("closed: %+v", out.Records)
	}
	p := mergedPass(time.Minute, fleet.Known(true))
	if out := merge.Follow(p); !out.Records.IsZero() || out.Until != noon.Add(14*time.Minute) && !out.Until.IsZero() {
		t.Errorf("nothing is to be said: %+v, until %v", out.Records, out.Until)
	}
	held := fleet.Skipped{Action: fleet.Action{Do: "close-issue", Subject: fleet.Subject{Kind: fleet.KindIssue, Name: "shop#12"}, For: fleet.AlertKey{Rule: "merge", Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq1"}}},
		Guard: fleet.GuardFrozen, Why: "frozen: by bob"}
	p.Plan.Skipped = []fleet.Skipped{held}
	out := merge.Follow(p)
	if len(out.Records.Merges) != 1 || out.Records.Merges[0].Why != "shop#12 is not closed yet: frozen: by bob" || len(out.Records.Mails) != 0 || out.Until != noon.Add(14*time.Minute) {
		t.Errorf("%+v, until %v", out.Records, out.Until)
	}
	p = mergedPass(15*time.Minute, fleet.Known(true))
	p.Plan.Skipped = []fleet.Skipped{held}
	out = merge.Follow(p)
	if len(out.Records.Mails) != 1 || out.Records.Mails[0].To[0] != "dev" || !strings.Contains(out.Records.Mails[0].Body, "frozen: by bob") || !out.Records.Merges[0].OpenTold {
		t.Errorf("%+v", out.Records)
	}
	p = mergedPass(20*time.Minute, fleet.Known(true), func(i *fleet.MergeItem) { i.OpenTold, i.Why = true, "shop#12 is not closed yet: frozen: by bob" })
	p.Plan.Skipped = []fleet.Skipped{held}
	if out := merge.Follow(p); !out.Records.IsZero() {
		t.Errorf("said twice: %+v", out.Records)
	}
}

// What is left to another is told at once, and is over.
func TestWhatIsLeftOpen(t *testing.T) {
	p := mergedPass(time.Minute, fleet.Known(true))
	p.Snapshot.Forge.Value.Issues[0].Agent = "eve"
	out := merge.Follow(p)
	if len(out.Records.Merges) != 1 || out.Records.Merges[0].Why != "shop#12 is left open: eve has it now" || len(out.Records.Mails) != 1 {
		t.Fatalf("%+v", out.Records)
	}
	p.Past.Records.Merges = out.Records.Merges
	p.Snapshot.Forge.Value.Issues[0].Agent = ""
	if out := merge.Follow(p); !out.Records.IsZero() {
		t.Errorf("%+v", out.Records)
	}
}

// A queue that is not configured any more: its open group is given up and its gates end, what has landed is
// merged, its items stay for a month, and what cannot be cleared is forgotten then.
func TestAQueueThatIsGone(t *testing.T) {
	item := func(id string, ago time.Duration) fleet.MergeItem {
		return fleet.MergeItem{Head: fleet.Head{ID: id, Revision: 1}, Queue: "old", Source: id, Commit: "a", Priority: fleet.P3, State: fleet.MergeWaiting, Since: noon.Add(-ago)}
	}
	open := fleet.MergeGroup{Head: fleet.Head{ID: "mg1", Revision: 1}, Queue: "old", Gates: "d", State: fleet.GroupTesting, Worktree: "/w/mg1-1", Run: "r1", Items: []fleet.MergeMember{{ID: "mq1", Commit: "a"}}, Since: noon}
	stuck := fleet.MergeGroup{Head: fleet.Head{ID: "mg0", Revision: 1}, Queue: "old", State: fleet.GroupRed, Worktree: "/w/mg0-1", Since: noon.Add(-31 * 24 * time.Hour)}
	p := passOf(fleet.Records{Merges: []fleet.MergeItem{item("mq1", time.Hour), item("mq2", 31*24*time.Hour)}, MergeGroups: []fleet.MergeGroup{stuck, open}})
	p.Past.Runs = []fleet.Run{{ID: "r1", State: fleet.RunOpen}}
	out := merge.Follow(p)
	if len(out.Records.Merges) != 1 || out.Records.Merges[0].ID != "mq2" || out.Records.Merges[0].State != fleet.MergeWithdrawn {
		t.Errorf("%+v", out.Records.Merges)
	}
	if g := out.Records.MergeGroups; len(g) != 2 || g[0].Cleared != fleet.GroupClear || g[1].State != fleet.GroupDropped || g[1].Why != "custos.toml has no [merge.old] any more" {
		t.Errorf("%+v", g)
	}
	if len(out.Runs) != 1 || out.Runs[0].Cancel == "" {
		t.Errorf("%+v", out.Runs)
	}
	open.State, open.Commit = fleet.GroupGreen, "c"
	landed := fleet.ActionRecord{Action: fleet.Action{Do: "land-merge", Target: fleet.Target{Merge: &fleet.MergeTarget{Queue: fleet.MergeQueue{Name: "old", Target: "main"}, Group: open}}}, Stage: fleet.StageEnded,
		PlannedAt: noon, Result: &fleet.Result{Status: fleet.ResultDone}}
	out = merge.Follow(passOf(fleet.Records{Merges: []fleet.MergeItem{item("mq1", time.Hour)}, MergeGroups: []fleet.MergeGroup{open}}, landed))
	if len(out.Records.Merges) != 1 || out.Records.Merges[0].State != fleet.MergeMerged {
		t.Errorf("%+v", out.Records)
	}
}

// A pull request that was closed unmerged takes its branch back, and its author is told, once.
func TestAPullThatWasClosed(t *testing.T) {
	p := mergedPass(time.Minute, fleet.Known(true), func(i *fleet.MergeItem) { i.State, i.Work = fleet.MergeWaiting, []fleet.Ref{"shop!7"} })
	p.Snapshot.Forge.Value.Ended = []fleet.EndedPull{{Name: "shop!7", Ended: fleet.Known(fleet.Duration(time.Minute))}}
	out := merge.Follow(p)
	if len(out.Records.Merges) != 1 || out.Records.Merges[0].State != fleet.MergeWithdrawn || out.Records.Merges[0].Why != "shop!7 was closed, and not merged" || len(out.Records.Mails) != 1 || out.Records.Mails[0].To[0] != "dev" {
		t.Errorf("%+v", out.Records)
	}
	p.Past.Records.Merges = out.Records.Merges
	if out := merge.Follow(p); !out.Records.IsZero() {
		t.Errorf("%+v", out.Records)
	}
}
