package ledger

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func reviewOf(t *testing.T, all fleet.Records, i fleet.MergeItem) fleet.WorkItem {
	t.Helper()
	w, err := AskReview(fleet.Past{Records: all, Registrations: []fleet.Registration{{Name: "before", Branch: "retry"}}}, fleet.MergeQueue{Name: "shop", Review: "reviewer"}, i, fleet.Instant{Wall: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	w.ID, w.Revision = "w9", 1
	return w
}

// A review is given by who has it, once; what is a blocker decides.
func TestGiveReview(t *testing.T) {
	item := fleet.MergeItem{Head: fleet.Head{ID: "mq1"}, Queue: "shop", Source: "retry", Commit: "c1", Agent: "builder-w1", Work: []fleet.Ref{"w1"}, State: fleet.MergeWaiting, Priority: fleet.P2}
	all := fleet.Records{Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1"}, Title: "a retry", Body: "of uploads", Agent: "builder-w1", LeftBy: "other"}}, Merges: []fleet.MergeItem{item}}
	w := reviewOf(t, all, item)
	if got := strings.Join(w.Review.Authors, " "); got != "builder-w1 before other" {
		t.Errorf("who may have written it: %s", got)
	}
	if w.Role != "reviewer" || w.Review.Round != 1 || w.Priority != fleet.P2 || !strings.Contains(w.Body, "of uploads") {
		t.Errorf("%+v", w)
	}
	w, _ = TakeWork(w, "rev", "agent/rev", fleet.Instant{})
	for by, found := range map[string][]fleet.ReviewFinding{"agent/other": nil, "agent/?": nil, "agent/rev": {{Grade: fleet.ReviewNit, Text: " "}}} {
		if _, err := GiveReview(w, found, by, fleet.Instant{}); err == nil {
			t.Errorf("by %s: it is taken", by)
		}
	}
	if _, err := CloseWork(w, "", "fine", "agent/rev", fleet.Instant{}); err == nil {
		t.Error("an agent closes a review by its word")
	}
	nits := []fleet.ReviewFinding{{Grade: fleet.ReviewNit, Where: "a:1", Text: "a typo"}}
	approved, err := GiveReview(w, nits, "agent/rev", fleet.Instant{})
	if err != nil || approved.Review.Verdict != fleet.ReviewApproved || approved.Outcome != "approved" || w.Review.Verdict != "" {
		t.Errorf("%+v, %v", approved, err)
	}
	if again, err := GiveReview(approved, nits, "agent/rev", fleet.Instant{}); err != nil || again.Revision != approved.Revision {
		t.Error(err)
	}
	if _, err := GiveReview(approved, nil, "agent/rev", fleet.Instant{}); err == nil {
		t.Error("a verdict is changed")
	}
	blocked, err := GiveReview(w, append(nits, fleet.ReviewFinding{Grade: fleet.ReviewBlocker, Where: "b:2", Text: "it never ends"}), "ann", fleet.Instant{})
	if err != nil || blocked.Review.Verdict != fleet.ReviewBlocked || blocked.Why != "blocked by ann: 1 blocker, 1 nit" {
		t.Errorf("%+v, %v", blocked, err)
	}
	news := ReviewNews(all, blocked, fleet.Instant{})
	if len(news) != 1 || news[0].To[0] != "builder-w1" || !strings.HasPrefix(news[0].Body, "blocker b:2: it never ends\nnit a:1: a typo\n") {
		t.Errorf("%+v", news)
	}
	open, err := ReopenWork(blocked, "look again", "ann", fleet.Instant{})
	if _, err := ReopenWork(blocked, "look again", "agent/builder-w1", fleet.Instant{}); err == nil {
		t.Error("an agent has it given again")
	}
	if err != nil || open.Review.Verdict != "" || blocked.Review.Verdict == "" {
		t.Errorf("%+v, %v", open, err)
	}
}

// Nobody reviews what it wrote, nor what was written by whoever started it, however far above; nor does an agent of another
// role.
func TestMayReview(t *testing.T) {
	w := fleet.WorkItem{Head: fleet.Head{ID: "w9"}, Role: "reviewer", Review: &fleet.Review{Authors: []string{"ann", "before"}}}
	all := []fleet.Registration{{Name: "ann"}, {Name: "before"}, {Name: "bob", Parent: "ann"}, {Name: "cid", Parent: "bob"}, {Name: "eve"}, {Name: "loop", Parent: "loop2"}, {Name: "loop2", Parent: "loop"}}
	for i := range all {
		all[i].Role = "reviewer"
	}
	all = append(all, fleet.Registration{Name: "builder", Role: "builder"})
	for name, may := range map[string]bool{"ann": false, "before": false, "bob": false, "cid": false, "eve": true, "stranger": false, "builder": false, "loop": true} {
		if err := MayReview(w, name, all); (err == nil) != may {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What was blocked is blocked under whatever name, and rounds are counted for a branch and for work, not for an item.
func TestBlockersStay(t *testing.T) {
	blocked := fleet.WorkItem{Head: fleet.Head{ID: "w9"}, State: fleet.WorkClosed, Review: &fleet.Review{Item: "mq1", Queue: "shop", Source: "retry", Commit: "c1", Round: 1, Verdict: fleet.ReviewBlocked}}
	items := []fleet.MergeItem{{Head: fleet.Head{ID: "mq1"}, Queue: "shop", Source: "retry", Commit: "c1", Work: []fleet.Ref{"w1"}, State: fleet.MergeWithdrawn},
		{Head: fleet.Head{ID: "mq2"}, Queue: "shop", Source: "foo", Commit: "c1", State: fleet.MergeWaiting, Priority: fleet.P3}}
	all := fleet.Records{Work: []fleet.WorkItem{blocked}, Merges: items}
	b := NewMergeBook(fleet.MergeQueue{Name: "shop", Review: "reviewer"}, fleet.Past{Records: all}, fleet.Instant{})
	if why := b.Unreviewed(&items[1]); !strings.Contains(why, "w9 has found") {
		t.Error(why)
	}
	for want, i := range map[int]fleet.MergeItem{1: {Head: fleet.Head{ID: "mq3"}, Queue: "shop", Source: "retry"}, 0: {Head: fleet.Head{ID: "mq4"}, Queue: "shop", Source: "bar"}} {
		if n := ReviewsBlocked(Reviews(all, i)); n != want {
			t.Errorf("%s: %d", i.Source, n)
		}
	}
	if n := ReviewsBlocked(Reviews(all, fleet.MergeItem{Head: fleet.Head{ID: "mq5"}, Queue: "shop", Source: "bar", Work: []fleet.Ref{"w1"}})); n != 1 {
		t.Error(n)
	}
	held := items[1]
	held.State, held.Agent = fleet.MergeHeld, "builder"
	if _, err := WithdrawMerge(held, "", "agent/builder", fleet.Instant{}); err == nil {
		t.Error("an agent withdraws what is held")
	}
	if _, err := WithdrawMerge(held, "", "ann", fleet.Instant{}); err != nil {
		t.Error(err)
	}
}

// A part cannot wait for what waits for it.
func TestCirclesOfParts(t *testing.T) {
	all := fleet.Records{Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1"}, State: fleet.WorkOpen}, {Head: fleet.Head{ID: "w2"}, Part: "w1", State: fleet.WorkOpen}, {Head: fleet.Head{ID: "w3"}, State: fleet.WorkOpen}}}
	if _, err := AddDependency(all, "w2", "w1", "ann", fleet.Instant{}); err == nil || !strings.Contains(err.Error(), "w2 -> w1 -> w2") {
		t.Error(err)
	}
	if MayWait(all, "w1", "w1") == nil || MayWait(all, "w1", "w3") != nil || MayWait(all, "", "w1") != nil {
		t.Error("of parts")
	}
	all.Dependencies = []fleet.Dependency{{Of: "w3", Needs: "w1", State: fleet.DependencyWaits}}
	if MayWait(all, "w1", "w3") == nil {
		t.Error("by way of another")
	}
}

// An agent closes of what a team has what it has itself, or wrote down; and has a merge close nothing else.
func TestAgentsCloseTheirOwn(t *testing.T) {
	at := fleet.Instant{}
	open := fleet.WorkItem{Head: fleet.Head{ID: "w1"}, State: fleet.WorkOpen, By: "ann", Team: "feature"}
	if _, err := CloseWork(open, "", "", "agent/b", at); err == nil {
		t.Error("what a team has is closed by any agent")
	}
	its := open
	its.By = "agent/b"
	if _, err := CloseWork(its, "", "", "agent/b", at); err != nil {
		t.Error(err)
	}
	all := fleet.Records{Work: []fleet.WorkItem{open, {Head: fleet.Head{ID: "w2"}, State: fleet.WorkTaken, Agent: "b"}}}
	if mergeWork(all, []fleet.Ref{"w1"}, "agent/b") == nil || mergeWork(all, []fleet.Ref{"w2"}, "agent/b") != nil || mergeWork(all, []fleet.Ref{"w1"}, "ann") != nil {
		t.Error("of a merge")
	}
}

// An item is not tested before it was approved at the very commit that it has, unless a person says that it goes without.
func TestUnreviewed(t *testing.T) {
	q := fleet.MergeQueue{Name: "shop", Review: "reviewer", Batch: 8}
	item := fleet.MergeItem{Head: fleet.Head{ID: "mq1"}, Queue: "shop", Commit: "c1", State: fleet.MergeWaiting, Priority: fleet.P3}
	waits := func(i fleet.MergeItem, works ...fleet.WorkItem) string {
		b := NewMergeBook(q, fleet.Past{Records: fleet.Records{Merges: []fleet.MergeItem{i}, Work: works}}, fleet.Instant{})
		if why := b.Unreviewed(&i); (why == "") != (len(b.Waiting()) == 1) || (why == "") == (len(b.Unready()) == 1) || why != "" && b.Why(&i) != why {
			t.Errorf("%q, and %d are taken", why, len(b.Waiting()))
		}
		return b.Unreviewed(&i)
	}
	review := func(commit string, v fleet.ReviewVerdict, state fleet.WorkState) fleet.WorkItem {
		return fleet.WorkItem{Head: fleet.Head{ID: "w9"}, State: state, Agent: "rev", Review: &fleet.Review{Item: "mq1", Commit: commit, Verdict: v}}
	}
	for want, works := range map[string][]fleet.WorkItem{
		"it is to be reviewed":                 {review("c0", fleet.ReviewApproved, fleet.WorkClosed)},
		"which rev has":                        {review("c1", "", fleet.WorkTaken)},
		"which nobody has yet":                 {review("c1", "", fleet.WorkOpen)},
		"has found what keeps it":              {review("c1", fleet.ReviewBlocked, fleet.WorkClosed)},
		"its review w9 was closed and says no": {review("c1", "", fleet.WorkClosed)},
	} {
		if why := waits(item, works...); !strings.Contains(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
	if why := waits(item, review("c1", fleet.ReviewApproved, fleet.WorkClosed)); why != "" {
		t.Error(why)
	}
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1"}, Queue: "shop", State: fleet.GroupGreen, Items: []fleet.MergeMember{{ID: "mq1", Commit: "c1"}}}
	past := fleet.Past{Records: fleet.Records{Merges: []fleet.MergeItem{item}, MergeGroups: []fleet.MergeGroup{g}}}
	if why := MergeBarred(past, fleet.MergeTarget{Queue: q, Group: g}, fleet.Instant{}); !strings.Contains(why, "it is to be reviewed") {
		t.Errorf("what was not read may land: %q", why)
	}
	released, err := ReleaseMerge(item, "ann", fleet.Instant{})
	if err != nil || waits(released) != "" {
		t.Errorf("%+v, %v", released, err)
	}
	if waits(Repin(released, "c2", fleet.Instant{})) == "" {
		t.Error("what a person let go was another commit")
	}
}

// Parts are of what is open, and at most so many.
func TestAddPart(t *testing.T) {
	all := fleet.Records{Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1"}, Project: "shop", Role: "builder", Team: "feature", State: fleet.WorkOpen}, {Head: fleet.Head{ID: "w2"}, State: fleet.WorkClosed}}}
	w, err := AddPart(all, fleet.WorkItem{Part: "w1"}, "ann")
	if err != nil || w.Team != "feature" || w.Role != "builder" || w.Project != "shop" {
		t.Errorf("%+v, %v", w, err)
	}
	all.Work = append(all.Work, fleet.WorkItem{Head: fleet.Head{ID: "w3"}, Part: "w1", State: fleet.WorkTaken, Agent: "lead"})
	for by, may := range map[string]bool{"agent/lead": true, "agent/other": false, "agent/?": false, "agent/": false} {
		if _, err := AddPart(all, fleet.WorkItem{Part: "w1"}, by); (err == nil) != may {
			t.Errorf("by %s: %v", by, err)
		}
	}
	for range mostParts {
		all.Work = append(all.Work, fleet.WorkItem{Part: "w1"})
	}
	for _, part := range []fleet.Ref{"w1", "w2", "w7"} {
		if _, err := AddPart(all, fleet.WorkItem{Part: part}, "ann"); err == nil {
			t.Errorf("a part of %s", part)
		}
	}
}
