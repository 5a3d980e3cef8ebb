package merge_test

import (
	"reflect"
	"testing"
	"time"

	"custos/internal/decide/follow/merge"
	"custos/internal/fleet"
)

var noon = fleet.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}

func passOf(r fleet.Records, actions ...fleet.ActionRecord) fleet.Pass {
	return fleet.Pass{Snapshot: fleet.Snapshot{At: noon}, Past: fleet.Past{Records: r, Actions: actions},
		Policy: fleet.Policy{Merges: []fleet.MergeQueue{{Name: "q", Target: "main", Digest: "d", Batch: 8}}}}
}

// What lands closes its work, and the past stays what it was.
func TestLandedLeavesThePastAlone(t *testing.T) {
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1", Revision: 1}, Queue: "q", Gates: "d", State: fleet.GroupGreen, Commit: "c", Items: []fleet.MergeMember{{ID: "mq1", Commit: "a"}, {ID: "mq2", Commit: "b"}}}
	records := func() fleet.Records {
		item := func(id, commit string) fleet.MergeItem {
			return fleet.MergeItem{Head: fleet.Head{ID: id, Revision: 1}, Queue: "q", Commit: commit, Priority: fleet.P3, State: fleet.MergeWaiting, Work: []fleet.Ref{"w1"}}
		}
		return fleet.Records{Merges: []fleet.MergeItem{item("mq1", "a"), item("mq2", "b")}, MergeGroups: []fleet.MergeGroup{g},
			Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1", Revision: 1}, Title: "retry", State: fleet.WorkOpen}}}
	}
	landed := fleet.ActionRecord{Action: fleet.Action{Do: "land-merge", Target: fleet.Target{Merge: &fleet.MergeTarget{Group: g}}}, Stage: fleet.StageEnded,
		PlannedAt: noon, Result: &fleet.Result{Status: fleet.ResultDone}}
	past := records()
	out := merge.Follow(passOf(past, landed))
	if len(out.Records.Work) != 1 || out.Records.Work[0].State != fleet.WorkClosed || len(out.Records.Merges) != 2 {
		t.Errorf("%+v", out.Records)
	}
	if !reflect.DeepEqual(past, records()) {
		t.Errorf("the past was changed: %+v", past.Work)
	}
}

// What nobody touches for a month is withdrawn then, and the loop is told when.
func TestExpiryIsForeseen(t *testing.T) {
	failed := fleet.MergeItem{Head: fleet.Head{ID: "mq1", Revision: 1}, Queue: "q", Priority: fleet.P3, State: fleet.MergeFailed, Why: "test failed", Since: noon.Add(-29 * 24 * time.Hour)}
	if out := merge.Follow(passOf(fleet.Records{Merges: []fleet.MergeItem{failed}})); out.Until != noon.Add(24*time.Hour) || !out.Records.IsZero() {
		t.Errorf("until %v: %+v", out.Until, out.Records)
	}
}

// Of two results of one action the one that was planned later counts, in whatever order they are
// handed over: they are sorted by their IDs, which are hashes.
func TestTheNewestResultCounts(t *testing.T) {
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1", Revision: 1}, Queue: "q", Gates: "d", State: fleet.GroupGreen, Since: noon, Commit: "c", Items: []fleet.MergeMember{{ID: "mq1", Commit: "a"}}}
	item := fleet.MergeItem{Head: fleet.Head{ID: "mq1", Revision: 1}, Queue: "q", Commit: "a", Priority: fleet.P3, State: fleet.MergeWaiting}
	land := func(after time.Duration, status fleet.ResultStatus) fleet.ActionRecord {
		return fleet.ActionRecord{Action: fleet.Action{Do: "land-merge", Target: fleet.Target{Merge: &fleet.MergeTarget{Group: g}}}, Stage: fleet.StageEnded,
			PlannedAt: noon.Add(after), Result: &fleet.Result{Status: status, Why: "the remote is down"}}
	}
	done, refused := land(2*time.Minute, fleet.ResultDone), land(time.Minute, fleet.ResultRefused)
	for _, actions := range [][]fleet.ActionRecord{{done, refused}, {refused, done}} {
		out := merge.Follow(passOf(fleet.Records{Merges: []fleet.MergeItem{item}, MergeGroups: []fleet.MergeGroup{g}}, actions...))
		if len(out.Records.MergeGroups) != 1 || out.Records.MergeGroups[0].State != fleet.GroupLanded {
			t.Errorf("%+v", out.Records.MergeGroups)
		}
	}
}

// What waits for an item that was taken back does not wait for ever: its author is told.
func TestNothingWaitsInVain(t *testing.T) {
	item := func(id string, state fleet.MergeState, needs ...string) fleet.MergeItem {
		return fleet.MergeItem{Head: fleet.Head{ID: id, Revision: 1}, Queue: "q", Source: id, Commit: "a", Priority: fleet.P3, State: state, Needs: needs, Agent: "b1", Since: noon}
	}
	out := merge.Follow(passOf(fleet.Records{Merges: []fleet.MergeItem{item("mq1", fleet.MergeWithdrawn), item("mq2", fleet.MergeWaiting, "mq1"), item("mq3", fleet.MergeHeld, "mq1")}}))
	if len(out.Records.Merges) != 1 || out.Records.Merges[0].State != fleet.MergeFailed || len(out.Records.Mails) != 1 || out.Records.Mails[0].To[0] != "b1" {
		t.Errorf("%+v", out.Records)
	}
}

// What failed, and was for work that is merged with another branch now, is taken back; what is for more stays.
func TestASuccessorTakesItsPlace(t *testing.T) {
	item := func(id string, state fleet.MergeState, work ...fleet.Ref) fleet.MergeItem {
		return fleet.MergeItem{Head: fleet.Head{ID: id, Revision: 1}, Queue: "q", Source: id, Commit: "a", Priority: fleet.P3, State: state, Work: work, Since: noon}
	}
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1", Revision: 1}, Queue: "q", Gates: "d", State: fleet.GroupGreen, Since: noon, Commit: "c", Items: []fleet.MergeMember{{ID: "mq3", Commit: "a"}}}
	r := fleet.Records{MergeGroups: []fleet.MergeGroup{g}, Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1", Revision: 1}, State: fleet.WorkTaken}},
		Merges: []fleet.MergeItem{item("mq1", fleet.MergeFailed, "w1"), item("mq2", fleet.MergeConflict, "w1", "w2"), item("mq3", fleet.MergeWaiting, "w1"), item("mq4", fleet.MergeFailed)}}
	landed := fleet.ActionRecord{Action: fleet.Action{Do: "land-merge", Target: fleet.Target{Merge: &fleet.MergeTarget{Group: g}}}, Stage: fleet.StageEnded, PlannedAt: noon, Result: &fleet.Result{Status: fleet.ResultDone}}
	states := map[string]fleet.MergeState{}
	for _, i := range merge.Follow(passOf(r, landed)).Records.Merges {
		states[i.ID] = i.State
	}
	if len(states) != 2 || states["mq1"] != fleet.MergeWithdrawn || states["mq3"] != fleet.MergeMerged {
		t.Errorf("%v", states)
	}
}
