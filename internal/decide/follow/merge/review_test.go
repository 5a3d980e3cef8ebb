package merge_test

import (
	"strings"
	"testing"

	"custos/internal/decide/follow/merge"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// A branch is read before it is tested; what is blocked goes back to its author, what was blocked in each round waits for a
// person, and a review that nobody waits for is closed.
func TestReviewRounds(t *testing.T) {
	item := fleet.MergeItem{Head: fleet.Head{ID: "mq1", Revision: 1}, Queue: "q", Source: "retry", Commit: "c1", State: fleet.MergeWaiting, Priority: fleet.P3, Agent: "b1"}
	records := fleet.Records{Merges: []fleet.MergeItem{item}}
	pass := func() fleet.Records {
		p := passOf(records)
		p.Policy.Merges[0].Review, p.Policy.Merges[0].Rounds = "reviewer", 2
		return merge.Follow(p).Records
	}
	for round := 1; round <= 2; round++ {
		got := pass()
		if len(got.Work) != 1 || got.Work[0].Review.Round != round || got.Work[0].Review.Author != "b1" || len(got.MergeGroups) != 0 {
			t.Fatalf("round %d: %+v", round, got)
		}
		w := got.Work[0]
		w.ID, w.Revision = "w"+string(rune('0'+round)), 1
		blocked, err := ledger.GiveReview(w, []fleet.ReviewFinding{{Grade: fleet.ReviewBlocker, Text: "no"}}, "ann", noon)
		if err != nil {
			t.Fatal(err)
		}
		records.Work = append(records.Work, blocked)
		back := pass()
		if len(back.Merges) != 1 || back.Merges[0].State != fleet.MergeFailed || !strings.HasPrefix(back.Merges[0].Why, fleet.MergeBlocked) || len(back.MergeGroups) != 0 {
			t.Fatalf("round %d: %+v", round, back)
		}
		records.Merges[0] = ledger.Repin(back.Merges[0], "c"+string(rune('1'+round)), noon)
	}
	held := pass()
	if len(held.Merges) != 1 || held.Merges[0].State != fleet.MergeHeld || len(held.Work) != 0 {
		t.Fatalf("%+v", held)
	}
	released, err := ledger.ReleaseMerge(held.Merges[0], "ann", noon)
	if err != nil {
		t.Fatal(err)
	}
	records.Merges[0] = released
	open := records.Work[0]
	open.ID, open.State, open.Review = "w7", fleet.WorkOpen, &fleet.Review{Item: "mq1", Commit: "c0", Round: 1}
	records.Work = append(records.Work, open)
	if got := pass(); len(got.MergeGroups) != 1 || len(got.Work) != 1 || got.Work[0].ID != "w7" || got.Work[0].State != fleet.WorkClosed {
		t.Errorf("%+v", got)
	}
}
