package merge_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/decide/follow/merge"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// stuckPass is a pass over one item that conflicts, of a queue in which a builder brings in what its author does not.
func stuckPass(since time.Duration, more ...fleet.WorkItem) fleet.Pass {
	item := fleet.MergeItem{Head: fleet.Head{ID: "mq1", Revision: 1}, Queue: "q", Source: "retry", Commit: "c1", State: fleet.MergeConflict, Why: "conflict", Files: []string{"up.go"},
		Priority: fleet.P3, Agent: "b1", Since: noon.Add(-since), Work: []fleet.Ref{"w1"}}
	w1 := fleet.WorkItem{Head: fleet.Head{ID: "w1", Revision: 1}, Title: "retry", State: fleet.WorkTaken, Agent: "b1", Priority: fleet.P3}
	p := passOf(fleet.Records{Merges: []fleet.MergeItem{item}, Work: append([]fleet.WorkItem{w1}, more...)})
	p.Policy.Merges[0].Resolve = "builder"
	p.Policy.Roles = []fleet.Role{{Name: "builder", Takes: fleet.RoleTakesReturned}}
	p.Snapshot.Agents.Sight = fleet.Sight{Status: fleet.StatusOK, At: noon}
	p.Past.Registrations = []fleet.Registration{{Name: "b1", Desired: fleet.DesiredRunning}}
	return p
}

// What is stuck is its author's for an hour, and at once another's when that is gone for good; not while somebody else has what
// it is for, and not what a review has blocked.
func TestWhoBringsIn(t *testing.T) {
	asked := func(p fleet.Pass) bool {
		list := merge.Follow(p).Records.Work
		return len(list) == 1 && list[0].Resolves != nil
	}
	if p := stuckPass(time.Minute); asked(p) || merge.Follow(p).Until != noon.Add(59*time.Minute) {
		t.Errorf("after a minute: until %v", merge.Follow(p).Until)
	}
	if !asked(stuckPass(time.Hour)) {
		t.Error("not after an hour")
	}
	failed := stuckPass(time.Hour)
	failed.Past.Records.Merges[0].State = fleet.MergeFailed
	failed.Past.Records.MergeGroups = []fleet.MergeGroup{{Head: fleet.Head{ID: "mg1", Revision: 1}, Queue: "q", Gates: "d", State: fleet.GroupRed, Items: []fleet.MergeMember{{ID: "mq1", Commit: "c1"}}, Cleared: fleet.GroupClear}}
	if !asked(failed) {
		t.Error("not though its gates fail")
	}
	gone := stuckPass(time.Minute)
	gone.Past.Registrations[0].Desired = fleet.DesiredRetired
	if !asked(gone) {
		t.Error("not though its author is gone")
	}
	gone.Snapshot.Agents.Status = fleet.StatusUnknown
	if asked(gone) {
		t.Error("though it is not seen whether its author is gone")
	}
	for name, change := range map[string]func(*fleet.Pass){
		"nobody brings in": func(p *fleet.Pass) { p.Policy.Merges[0].Resolve = "" },
		"a review has blocked it": func(p *fleet.Pass) {
			i := &p.Past.Records.Merges[0]
			i.State, i.Why, p.Past.Records.MergeGroups = fleet.MergeFailed, fleet.MergeBlocked+"w9", failed.Past.Records.MergeGroups
		},
		"another has the work": func(p *fleet.Pass) { p.Past.Records.Work[0].Agent = "b2" },
		"the work is to be handed": func(p *fleet.Pass) {
			w := &p.Past.Records.Work[0]
			w.State, w.Agent, w.Role = fleet.WorkOpen, "", "builder"
		},
		"the queue is held": func(p *fleet.Pass) {
			p.Past.Records.MergeHolds = []fleet.MergeHold{{Head: fleet.Head{Key: "q"}, Queue: "q", Held: true, By: "ann"}}
		},
		"it is to bring another one in": func(p *fleet.Pass) {
			p.Past.Records.Work[0].Resolves = &fleet.Resolved{Queue: "q", Item: "mq9", Commit: "c9"}
		},
		"its branch is gone": func(p *fleet.Pass) { p.Past.Records.Merges[0].State = fleet.MergeFailed },
		"it is asked for already": func(p *fleet.Pass) {
			p.Past.Records.Work = append(p.Past.Records.Work, resolution("w2", fleet.WorkOpen, noon))
		},
		"it was brought in in vain": func(p *fleet.Pass) {
			p.Past.Records.Work = append(p.Past.Records.Work, resolution("w2", fleet.WorkClosed, noon.Add(-2*time.Hour)))
		},
	} {
		p := stuckPass(time.Hour)
		change(&p)
		if asked(p) {
			t.Error("though " + name)
		}
	}
}

func resolution(id string, state fleet.WorkState, since fleet.Instant) fleet.WorkItem {
	return fleet.WorkItem{Head: fleet.Head{ID: id, Revision: 1}, Title: "Bring in retry", State: state, Outcome: ledger.Completed, Since: since, Role: "builder", Priority: fleet.P3,
		Resolves: &fleet.Resolved{Queue: "q", Item: "mq1", Commit: "c1"}}
}

// Who brings an item in begins at its branch, and is told why it is not merged; when that is merged the item is tried again.
func TestWhatIsBroughtInIsTriedAgain(t *testing.T) {
	p := stuckPass(time.Hour)
	w := merge.Follow(p).Records.Work[0]
	if w.Left != "retry" || w.LeftBy != "b1" || w.Role != "builder" || !strings.Contains(w.Body, "conflict (up.go)") {
		t.Errorf("%+v", w)
	}
	p = stuckPass(time.Hour, resolution("w2", fleet.WorkClosed, noon))
	got := merge.Follow(p).Records
	if len(got.Merges) != 1 || got.Merges[0].State != fleet.MergeWaiting || got.Merges[0].Commit != "c1" || len(got.Work) != 0 {
		t.Errorf("%+v", got)
	}
	p.Past.Records.Merges[0].Since = noon.Add(time.Minute) // it has failed since
	if got := merge.Follow(p).Records; len(got.Merges)+len(got.Work) != 0 {
		t.Errorf("%+v", got)
	}
}

// When its author brings it in, nobody else needs to.
func TestNobodyBringsInWhatIsNotStuck(t *testing.T) {
	p := stuckPass(time.Hour, resolution("w2", fleet.WorkOpen, noon))
	p.Past.Records.Merges[0] = ledger.Repin(p.Past.Records.Merges[0], "c2", noon)
	got := merge.Follow(p).Records
	if len(got.Work) != 1 || got.Work[0].ID != "w2" || got.Work[0].State != fleet.WorkClosed || got.Work[0].Outcome == ledger.Completed {
		t.Errorf("%+v", got.Work)
	}
}
