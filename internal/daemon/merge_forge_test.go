package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/sys/forgetest"
)

// A branch that was added for an issue of a forge, and as a pull request, lands; the daemon is killed as the target has
// moved, before anything of that is written down. Another one closes the issue, and says once why.
func TestMergeClosesAnIssueAfterACrash(t *testing.T) {
	forge := forgetest.New(t, "forgejo")
	repo := forge.Repo("acme/shop")
	repo.Open(12, time.Hour, forgetest.Issue{Title: "retry", Author: "ann", Labels: []string{"backlog"}})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(forge.Account("custos-bot")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := foundMergeTown(t, fmt.Sprintf("[forge.shop]\nkind = \"forgejo\"\nurl = %q\nrepo = \"acme/shop\"\ntoken_file = %q\n", forge.URL, token)+fmt.Sprintf(mergeGate, 1, "0s", dies("begins"), dies("ends")))
	head := w.branch("retry", "f-retry", "good\n")
	repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "Retry", Author: "ann"}, Base: "main", Branch: "retry", Head: head})
	var m api.Merge
	var err error
	await(t, func() string { return fmt.Sprintf("%v\n%s", err, w.said) }, func() bool { // once the forge was looked at
		c := w.client()
		defer c.Close()
		m, err = c.AddMerge(t.Context(), api.MergeRequest{Branch: "shop!7", Work: []string{"shop#12"}})
		return err == nil
	})
	if m.Source != "retry" || m.Commit != head || m.Title != "Retry" {
		t.Errorf("%+v", m)
	}
	w.arm("after push")
	if kills := w.killed(); kills != 1 {
		t.Errorf("%d kills", kills)
	}
	var said []forgetest.Comment
	open := true
	await(t, func() string { told, _ := w.says("feed"); return told + w.said.String() }, func() bool {
		forge.Change(func() { said, open = repo.Issues[12].Comments, repo.Issues[12].Closed.IsZero() })
		return !open
	})
	if len(said) != 1 || !strings.HasPrefix(said[0].Body, "merged as ") || !strings.Contains(said[0].Body, " by "+m.ID+" into main") {
		t.Errorf("%+v", said)
	}
	await(t, func() string { all, _ := w.items(); return fmt.Sprintf("%+v\n%s", all, w.said) }, func() bool {
		all, _ := w.items()
		return all["retry"].State == "merged" && strings.Contains(all["retry"].Why, "shop!7 is not closed yet: its forge may yet see by itself")
	})
}

// Of a queue whose target the forge moves, that is asked to merge what its checks have passed, at the commit that was seen, and
// nothing before; a person there may do it as well. What it was for is closed with it.
func TestAForgeMerges(t *testing.T) {
	forge := forgetest.New(t, "forgejo")
	repo := forge.Repo("acme/shop")
	repo.Required["main"] = []string{"ci"}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(forge.Account("custos-bot")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := foundMergeTown(t, fmt.Sprintf("[forge.shop]\nkind = \"forgejo\"\nurl = %q\nrepo = \"acme/shop\"\ntoken_file = %q\nevery = \"10s\"\n[merge.shop]\nrepo = \"DIR/shop/repo\"\ntarget = \"main\"\nmode = \"forge\"\n", forge.URL, token))
	c := w.client()
	defer c.Close()
	work, err := c.AddWork(t.Context(), api.WorkRequest{Title: "retry"})
	if err != nil {
		t.Fatal(err)
	}
	propose := func(number int, branch, check string) {
		repo.Propose(number, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: branch, Author: "ann"}, Base: "main", Branch: branch, Head: w.branch(branch, "f-"+branch, "good\n"),
			Checks: []forgetest.Check{{Context: "ci", State: check}}})
	}
	propose(7, "retry", "success")
	propose(8, "other", "pending")
	w.add("retry", work.Ref)
	w.add("other")
	all := map[string]api.Merge{}
	shown := func() string { told, _ := w.says("feed"); return fmt.Sprintf("%+v\n%s\n%s", all, told, w.said) }
	await(t, shown, func() bool {
		all, _ = w.items()
		return all["retry"].State == "merged" && all["other"].Why == "the checks of shop!8 are pending"
	})
	merged, other := false, false
	var commit string
	forge.Change(func() {
		merged, other, commit = repo.Pulls[7].Merged, repo.Pulls[8].Merged, repo.Pulls[7].MergeCommit()
	})
	if !merged || other || all["retry"].Merged != commit {
		t.Errorf("merged %v, the other %v: %+v", merged, other, all["retry"])
	}
	if out := w.words("work", "show", work.Ref); !strings.Contains(out, "merged as ") {
		t.Error(out)
	}
	repo.Merge(8, time.Second) // by a person
	await(t, shown, func() bool { all, _ = w.items(); return all["other"].State == "merged" })
}
