package ledger_test

import (
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func mergeItem(id string, change ...func(*fleet.MergeItem)) fleet.MergeItem {
	i := fleet.MergeItem{Head: fleet.Head{ID: id, Revision: 1}, Queue: "q", Source: "b-" + id, Commit: "c-" + id, Priority: fleet.P3, State: fleet.MergeWaiting, By: "ann"}
	for _, c := range change {
		c(&i)
	}
	return i
}

// A branch that is in the queue is taken at its new commit, as the item that it is; a branch that is
// merged begins anew; what is another's, or held, is refused.
func TestAddMergeAgain(t *testing.T) {
	all := fleet.Records{Merges: []fleet.MergeItem{mergeItem("mq1", func(i *fleet.MergeItem) { i.State, i.Why, i.Agent, i.By = fleet.MergeFailed, "x", "b1", "agent/b1" }),
		mergeItem("mq2", func(i *fleet.MergeItem) { i.State = fleet.MergeMerged }), mergeItem("mq3", func(i *fleet.MergeItem) { i.State, i.Why = fleet.MergeHeld, "held by ann" })}}
	again := func(source, commit, by string) (fleet.MergeItem, error) {
		return ledger.AddMerge(all, fleet.MergeItem{Queue: "q", Source: source, Commit: commit}, by, mergeNoon)
	}
	i, err := again("b-mq1", "c2", "agent/b1")
	if err != nil || i.ID != "mq1" || i.State != fleet.MergeWaiting || i.Commit != "c2" || i.Why != "" || i.Since != mergeNoon {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err := again("b-mq1", "c-mq1", "agent/b1"); err != nil || i.State != fleet.MergeFailed {
		t.Errorf("the same commit is no new one: %+v, %v", i, err)
	}
	if i, err := again("b-mq2", "c9", "ann"); err != nil || i.ID != "" || i.Revision != 0 {
		t.Errorf("%+v, %v", i, err)
	}
	for want, x := range map[string][2]string{"mq1 was added by b1": {"b-mq1", "agent/b2"}, "mq3 is held": {"b-mq3", "ann"}} {
		if _, err := again(x[0], "c3", x[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// Nothing waits for itself, for what is in no queue or another one, or for what was taken back; and no
// agent has work closed that another one has.
func TestAddMergeRefuses(t *testing.T) {
	all := fleet.Records{Work: []fleet.WorkItem{{Head: fleet.Head{ID: "w1"}, State: fleet.WorkTaken, Agent: "b2"}, {Head: fleet.Head{ID: "w2"}, State: fleet.WorkClosed}},
		Merges: []fleet.MergeItem{mergeItem("mq1", func(i *fleet.MergeItem) { i.Needs = []string{"mq2"} }), mergeItem("mq2"), mergeItem("mq3", func(i *fleet.MergeItem) { i.Queue = "other" }),
			mergeItem("mq4", func(i *fleet.MergeItem) { i.State = fleet.MergeWithdrawn })}}
	for want, i := range map[string]fleet.MergeItem{
		"mq2 would wait for itself, by way of mq1": {Source: "b-mq2", Commit: "c", Needs: []string{"mq1"}},
		"mq2 would wait for itself, by way of mq2": {Source: "b-mq2", Commit: "c", Needs: []string{"mq2"}},
		"there is no item mq9":                     {Source: "x", Commit: "c", Needs: []string{"mq9"}},
		"mq3 is in another queue":                  {Source: "x", Commit: "c", Needs: []string{"mq3"}},
		"mq4 was withdrawn":                        {Source: "x", Commit: "c", Needs: []string{"mq4"}},
		"agent b2 has w1":                          {Source: "x", Commit: "c", Work: []fleet.Ref{"w1"}},
		"work w2 is closed":                        {Source: "x", Commit: "c", Work: []fleet.Ref{"w2"}},
		"there is no work w3":                      {Source: "x", Commit: "c", Work: []fleet.Ref{"w3"}},
		"no tracker is known that keeps jira-17":   {Source: "x", Commit: "c", Work: []fleet.Ref{"jira-17"}},
		"it names no branch":                       {Source: "x"},
	} {
		i.Queue = "q"
		by := "ann"
		if len(i.Work) > 0 {
			by = "agent/b1"
		}
		if _, err := ledger.AddMerge(all, i, by, mergeNoon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", i, err, want)
		}
	}
}

// Holding and releasing is a person's; who releases what would lose lines has accepted that, of this commit.
func TestHoldAndReleaseMerge(t *testing.T) {
	i := mergeItem("mq1")
	if _, err := ledger.HoldMerge(i, "", "agent/b1", mergeNoon); err == nil {
		t.Error("an agent held it")
	}
	held, err := ledger.HoldMerge(i, "not today", "ann", mergeNoon)
	if err != nil || held.State != fleet.MergeHeld || held.Why != "held by ann: not today" {
		t.Errorf("%+v, %v", held, err)
	}
	if _, err := ledger.ReleaseMerge(held, "agent/b1", mergeNoon); err == nil {
		t.Error("an agent released it")
	}
	if free, err := ledger.ReleaseMerge(held, "ann", mergeNoon); err != nil || free.State != fleet.MergeWaiting || free.Accepted != "" {
		t.Errorf("%+v, %v", free, err)
	}
	held.Why = fleet.MergeLoses + `"x"`
	free, err := ledger.ReleaseMerge(held, "ann", mergeNoon)
	if err != nil || free.Accepted != free.Commit {
		t.Errorf("%+v, %v", free, err)
	}
	if next := ledger.Repin(free, "c2", mergeNoon); next.Accepted == next.Commit {
		t.Error("another commit is accepted, too")
	}
}

// A queue is held and released by a person; Custos holds it for what it has found, and does not take a
// person's hold for its own.
func TestHoldQueue(t *testing.T) {
	var all fleet.Records
	if _, err := ledger.HoldQueue(all, "q", "", "agent/b1", mergeNoon); err == nil {
		t.Error("an agent held it")
	}
	h, err := ledger.HoldQueue(all, "q", "release day", "ann", mergeNoon)
	if err != nil || !h.Held || h.Key != "q" {
		t.Fatalf("%+v, %v", h, err)
	}
	all.MergeHolds = []fleet.MergeHold{h}
	if again, err := ledger.HoldQueue(all, "q", "declined", fleet.ByCustos, mergeNoon); err != nil || again.By != "ann" {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := ledger.ReleaseQueue(all, "q", fleet.ByCustos, 0, mergeNoon); err == nil {
		t.Error("Custos released it")
	}
	if h, err := ledger.ReleaseQueue(all, "q", "ann", 7, mergeNoon); err != nil || h.Held || h.Lifted != 7 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A hold without a reason holds, and a reason that is given later is taken.
func TestHoldQueueWithoutAReason(t *testing.T) {
	var past fleet.Past
	hold := func(why string) string {
		h, err := ledger.HoldQueue(past.Records, "q", why, "ann", mergeNoon)
		if err != nil {
			t.Fatal(err)
		}
		past.Records.MergeHolds = []fleet.MergeHold{h}
		held, by := ledger.NewMergeBook(fleet.MergeQueue{Name: "q"}, past, mergeNoon).Holds()
		if by != "ann" {
			t.Errorf("held by %q", by)
		}
		return held
	}
	for _, x := range [][2]string{{"", "no reason was given"}, {"", "no reason was given"}, {"release day", "release day"}, {"", "release day"}} {
		if got := hold(x[0]); got != x[1] {
			t.Errorf("--why %q: %q, want %q", x[0], got, x[1])
		}
	}
}

// Who adds a branch again whose need was withdrawn wants it without.
func TestAddMergeAgainWithoutWhatWasWithdrawn(t *testing.T) {
	all := fleet.Records{Merges: []fleet.MergeItem{mergeItem("mq1", func(i *fleet.MergeItem) { i.State = fleet.MergeWithdrawn }), mergeItem("mq2"),
		mergeItem("mq3", func(i *fleet.MergeItem) { i.Needs = []string{"mq1", "mq2"} })}}
	i, err := ledger.AddMerge(all, fleet.MergeItem{Queue: "q", Source: "b-mq3", Commit: "c2"}, "ann", mergeNoon)
	if err != nil || len(i.Needs) != 1 || i.Needs[0] != "mq2" || len(all.Merges[2].Needs) != 2 {
		t.Errorf("%+v, %v", i, err)
	}
}

// A queue that is held on record is held, whatever is said of why.
func TestAHoldIsAHold(t *testing.T) {
	past := fleet.Past{Records: fleet.Records{MergeHolds: []fleet.MergeHold{{Head: fleet.Head{ID: "mh1", Key: "q"}, Queue: "q", Held: true, By: "ann"}}}}
	if held, by := ledger.NewMergeBook(fleet.MergeQueue{Name: "q"}, past, mergeNoon).Holds(); held == "" || by != "ann" {
		t.Errorf("held: %q, by %q", held, by)
	}
}
