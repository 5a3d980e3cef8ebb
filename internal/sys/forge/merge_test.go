package forge_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
)

const other = "9999999999999999999999999999999999999999"

// proposed is a pull request whose required check has come out so.
func proposed(w *world, number int, check string) *forgetest.Pull {
	w.repo.Required["main"] = []string{"ci"}
	return w.repo.Propose(number, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix", Author: "bot"}, Base: "main", Branch: "fix", Head: head,
		Checks: []forgetest.Check{{Context: "ci", State: check}}})
}

// A pull request is merged at the head that is named and at no other, and not before what its repository requires has passed: nothing
// is scheduled, for that would merge another head, too.
func TestMergeAtOneHead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.repo.MustPass = true
		p, early := proposed(w, 7, "success"), proposed(w, 8, "pending")
		writer := w.merger
		if m, err := writer.Merge(t.Context(), 7, other); err == nil || p.Merged {
			t.Errorf("at another head: %+v, %v", m, err)
		}
		if m, err := writer.Merge(t.Context(), 8, head); err == nil || early.Merged || early.Auto != nil {
			t.Errorf("before its check: %+v, %v; %+v", m, err, early.Auto)
		}
		m, err := writer.Merge(t.Context(), 7, head)
		if err != nil || !p.Merged || m.Commit != p.MergeCommit() {
			t.Errorf("%+v, %v; merged: %v", m, err, p.Merged)
		}
		if m, err := writer.Merge(t.Context(), 7, ""); err == nil {
			t.Errorf("at no head: %+v", m)
		}
	})
}

// Why a forge does not merge is said in its own words.
func TestWhyAForgeDoesNotMerge(t *testing.T) {
	want := map[string]string{"gitea": "Not all required status checks successful", "forgejo": "Not all required status checks successful", "github": `Required status check "ci" is failing.`, "gitlab": "405"}
	each(t, func(t *testing.T, w *world) {
		w.repo.MustPass = true
		proposed(w, 7, "failure")
		_, err := w.merger.Merge(t.Context(), 7, head)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), want[w.Kind]) {
			t.Errorf("%v", err)
		}
	})
}

// Where a target of GitHub has a merge queue, a pull request is put in that, once; and taken out of it.
func TestGitHubsOwnQueue(t *testing.T) {
	w := newWorld(t, "github")
	w.repo.Queues = []string{"main"}
	p, writer := proposed(w, 7, "success"), w.merger
	for range 2 {
		if m, err := writer.Merge(t.Context(), 7, head); err != nil || m.Commit != "" || p.Merged || p.Auto == nil || !p.Auto.Queued {
			t.Fatalf("%+v, %v; %+v", m, err, p.Auto)
		}
	}
	for range 2 {
		if err := writer.LeaveQueue(t.Context(), 7); err != nil || p.Auto != nil {
			t.Fatalf("%v; %+v", err, p.Auto)
		}
	}
	if m, err := writer.Merge(t.Context(), 7, other); err == nil || p.Auto != nil {
		t.Errorf("at another head: %+v, %v; %+v", m, err, p.Auto)
	}
	blocked := proposed(w, 8, "pending")
	if m, err := writer.Merge(t.Context(), 8, head); err == nil || !strings.Contains(err.Error(), "expected") || blocked.Auto != nil {
		t.Errorf("before its check: %+v, %v", m, err)
	}
}

// Who may not merge is told so, and nothing is merged.
func TestWhoMayNotMerge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.repo.Mergers = []string{"somebody-else"}
		p := proposed(w, 7, "success")
		if m, err := w.merger.Merge(t.Context(), 7, head); err == nil || p.Merged {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// A pull request whose branch is in another repository is told apart, open or not.
func TestForksAreTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n, fork := range map[int]string{1: "", 2: "eve/shop", 3: "", 4: "eve/shop"} {
			w.repo.Propose(n, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix", Author: "bot"}, Base: "main", Branch: "fix", Head: head, Fork: fork})
		}
		w.repo.Merge(3, time.Minute)
		w.repo.Merge(4, time.Minute)
		for _, p := range must[[]forge.Pull](t)(w.reader.Pulls(t.Context())) {
			if p.Fork != (p.Number == 2) {
				t.Errorf("%+v", p)
			}
		}
		for _, e := range must[[]forge.Ended](t)(w.reader.Ended(t.Context())) {
			if e.Fork != (e.Number == 4) || e.Head != head || e.Base != "main" {
				t.Errorf("%+v", e)
			}
		}
	})
}
