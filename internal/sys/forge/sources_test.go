package forge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/citest"
	"custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
)

// What these tests hold the clients against was written down from the servers' public
// sources first (package forgetest says which), by somebody who did not know the clients.

// TestABranchThatIsGoneKeepsItsName: a Gitea says refs/pull/N/head of it.
func TestABranchThatIsGoneKeepsItsName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix"}, Base: "main", Branch: "fix/issue-1", Head: head, BranchGone: true})
		w.repo.Propose(8, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix"}, Base: "main", Branch: "fix/issue-2", Head: head})
		if got := must[[]forge.Pull](t)(w.reader.Pulls(t.Context())); len(got) != 2 || got[0].Branch != "fix/issue-2" || got[1].Branch != "fix/issue-1" {
			t.Errorf("open: %+v", got)
		}
		w.repo.Merge(7, 0)
		if got := must[[]forge.Ended](t)(w.reader.Ended(t.Context())); len(got) != 1 || got[0].Branch != "fix/issue-1" {
			t.Errorf("merged: %+v", got)
		}
	})
}

// TestWhatMayNotBeSeenIsSaidSo: of a dependency in a repository that the token may not
// see, a Gitea tells a number of 0 and "open", whatever it is.
func TestWhatMayNotBeSeenIsSaidSo(t *testing.T) {
	for _, kind := range []string{"gitea", "forgejo"} {
		w := newWorld(t, kind)
		w.repo.Open(1, time.Hour, forgetest.Issue{Title: "a", DependsOn: []string{"acme/vault#3"}})
		vault := w.Repo("acme/vault")
		w.Change(func() { vault.Unseen = true })
		vault.Open(3, time.Hour, forgetest.Issue{Title: "secret"})
		got, err := w.reader.Blockers(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), "may not see") {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

// TestLabelsOfTheOrganization: a repository's own list does not have them.
func TestLabelsOfTheOrganization(t *testing.T) {
	for _, kind := range []string{"gitea", "forgejo"} {
		w := newWorld(t, kind)
		w.Change(func() { w.repo.Shared = []string{"urgent", "later"} })
		i := w.repo.Open(1, time.Hour, forgetest.Issue{Title: "a", Labels: []string{"urgent"}})
		if _, err := w.writer.Label(t.Context(), 1, "urgent", false); err != nil {
			t.Errorf("%s: taking it off: %v", kind, err)
		}
		if _, err := w.writer.Label(t.Context(), 1, "later", true); err != nil {
			t.Errorf("%s: putting it on: %v", kind, err)
		}
		w.Change(func() {
			if !slices.Equal(i.Labels, []string{"later"}) {
				t.Errorf("%s: labels %v", kind, i.Labels)
			}
		})
		if _, err := w.writer.Label(t.Context(), 1, "nosuch", true); err == nil || !strings.Contains(err.Error(), `no label "nosuch"`) {
			t.Errorf("%s: a label that there is not: %v", kind, err)
		}
	}
}

// TestNobodyIsAssignedWhoMayNotBe: GitHub takes the request, and leaves them out.
func TestNobodyIsAssignedWhoMayNotBe(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Change(func() { w.repo.Assignable = []string{"ann"} })
		w.repo.Open(1, time.Hour, forgetest.Issue{Title: "a"})
		if did, err := w.writer.Assign(t.Context(), 1, "stranger", true); err == nil {
			t.Errorf("assigned to a stranger: %v", did)
		}
		if did, err := w.writer.Assign(t.Context(), 1, "ann", true); err != nil || !did {
			t.Errorf("assigned to ann: %v, %v", did, err)
		}
	})
}

// TestWhatWaitsIsNotClosed: a Gitea refuses with 412.
func TestWhatWaitsIsNotClosed(t *testing.T) {
	for _, kind := range []string{"gitea", "forgejo"} {
		w := newWorld(t, kind)
		w.repo.Open(1, time.Hour, forgetest.Issue{Title: "a", DependsOn: []string{"#2"}})
		w.repo.Open(2, time.Hour, forgetest.Issue{Title: "b"})
		if _, err := w.writer.Open(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), "still open") {
			t.Errorf("%s: closed: %v", kind, err)
		}
	}
}

// TestLinksElsewhere: a forge whose own idea of its address is another one is read whole,
// and nobody else hears the token.
func TestLinksElsewhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := citest.New(t, "woodpecker")
		w.Change(func() { w.Root, w.PageSize = other.URL, 20 })
		for n := 1; n <= 70; n++ {
			w.repo.Open(n, time.Hour, forgetest.Issue{Title: fmt.Sprint("issue ", n)})
		}
		if got := must[[]forge.Issue](t)(w.reader.Issues(t.Context(), time.Time{})); len(got) != 70 {
			t.Errorf("%d of 70", len(got))
		}
		if asked, _ := other.Requests(); asked != 0 {
			t.Errorf("%d requests went elsewhere", asked)
		}
	})
}
