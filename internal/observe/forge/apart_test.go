package forge_test

import (
	"testing"
	"time"

	"custos/internal/sys/forgetest"
)

// Where they are counted apart, issue 7 and merge request 7 are two things: neither stands for
// the other, in a dependency, in what a phase file names, or when a list is doubted.
func TestNumbersThatAreCountedApart(t *testing.T) {
	w, repos := newWorld(t, "gitlab", "shop")
	shop := repos["shop"]
	shop.Open(1, 30*24*time.Hour, forgetest.Issue{Labels: []string{"backlog"}, Body: "Depends on #7"})
	shop.Open(2, 30*24*time.Hour, forgetest.Issue{Labels: []string{"backlog"}, Body: "Depends on #8"})
	shop.Open(7, 30*24*time.Hour, forgetest.Issue{})
	shop.Close(7, 20*24*time.Hour)
	shop.Open(9, time.Hour, forgetest.Issue{})
	for n := 7; n <= 9; n++ { // 7 is an issue that is closed, 8 is none, 9 is one that is open
		shop.Propose(n, time.Hour, forgetest.Pull{Base: "main", Branch: "x", Head: commit(n)})
	}
	shop.Merge(9, time.Minute)
	f := w.must(t)
	f = w.must(t)
	if i := issue(t, f, "shop#1"); !i.Ready.Or(false) || len(i.BlockedBy.Or([]string{"?"})) != 0 {
		t.Errorf("what it waits for is closed: %+v", i)
	}
	if i := issue(t, f, "shop#2"); !i.Ready.Or(false) {
		t.Errorf("it waits for what there is not: %+v", i)
	}
	if i := issue(t, f, "shop#9"); !i.Open.Or(false) {
		t.Errorf("a merge request was merged, and the issue is %+v", i)
	}
	if closed, _ := w.probe.Closed(t.Context(), "shop", 7); !closed.Or(false) {
		t.Errorf("issue 7 is closed %v", closed)
	}
	if len(f.Pulls) != 2 || f.Pulls[0].Name != "shop!7" {
		t.Errorf("%+v", f.Pulls)
	}
	shop.Close(7, 0)
	shop.Merge(7, 0)
	shop.Merge(8, 0)
	if f := w.must(t); len(f.Pulls) != 0 || !issue(t, f, "shop#9").Open.Or(false) {
		t.Errorf("%+v", f.Pulls)
	}
}
