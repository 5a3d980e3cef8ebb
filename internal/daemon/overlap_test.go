package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// TestTwoAgentsChangeTheSameLines: as soon as the second one has saved its own, before either commits, people have an
// alert, and each agent reads a mail that names the other, the file and the lines; once.
func TestTwoAgentsChangeTheSameLines(t *testing.T) {
	w := mailTown(t)
	repo := filepath.Join(w.dir, "project")
	git(t, w.dir, "init", "-q", "-b", "main", repo)
	file := func(dir, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file(repo, "1\n2\n3\n4\n5\n")
	git(t, repo, "add", ".")
	git(t, repo, "-c", "user.name=T", "-c", "user.email=t@x", "commit", "-qm", "x")
	tree := func(name string) string { return filepath.Join(w.dir, "wt", name) }
	for _, name := range []string{"one", "two"} {
		s := &api.SpawnRequest{Kind: "claude", Argv: []string{"claude", "--fake", "mail"}, Worktree: true, Repo: repo, Dir: tree(name)}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
		}
		w.awaitState(name, "idle")
	}
	file(tree("one"), "1\n2\nthree\n4\n5\n")
	file(tree("two"), "1\n2\nTHREE\n4\n5\n")
	began := time.Now()
	told := func(name string) (list []api.Mail) {
		t.Helper()
		mails, err := w.client().Mails(t.Context(), name, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mails.Mail {
			if strings.Contains(m.Subject, "you change the same lines") {
				list = append(list, m)
			}
		}
		return list
	}
	for name, other := range map[string]string{"one": "two", "two": "one"} {
		var m api.Mail
		await(t, func() string { return fmt.Sprintf("%s was not told: %+v\n%s\n%s", name, m, w.log(), w.said) }, func() bool {
			if list := told(name); len(list) > 0 {
				m = list[0]
			}
			return m.State == "read"
		})
		if m.Subject != other+" and you change the same lines" || !strings.Contains(m.Body, "main.go:3\n") || !strings.Contains(m.Body, tree(other)) {
			t.Errorf("%s was told %+v", name, m)
		}
	}
	took := time.Since(began)
	said := ""
	for _, a := range w.alerts("agents-edit-same-lines") {
		said += a.Summary
	}
	if said != "one, two change the same lines of main.go:3" || took > 30*time.Second {
		t.Errorf("people were told %q; all were told after %s", said, took)
	}
	t.Logf("all were told, and both had read it, after %s", took.Round(100*time.Millisecond))
	for _, name := range []string{"one", "two"} {
		if n := len(told(name)); n != 1 {
			t.Errorf("%s was told %d times", name, n)
		}
	}
	s := &api.SpawnRequest{Kind: "generic", Argv: []string{"sleep", "1000"}, Worktree: true, Repo: repo, Dir: tree("three"), Files: []string{"guide"}}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "three", Spawn: s}); o.State != "done" {
		t.Fatalf("spawn three: %+v\n%s", o, w.said)
	}
	if err := os.Mkdir(filepath.Join(tree("two"), "guide"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree("two"), "guide", "a.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	file(tree("three"), "1\n2\n3\n4\nfive\n")
	file(tree("two"), "1\n2\nTHREE\n4\nFIVE\n")
	await(t, w.said.String, func() bool {
		return slices.ContainsFunc(w.alerts("agents-edit-same-lines"), func(a api.Alert) bool { return a.Summary == "three, two change the same lines of main.go:5" })
	})
	await(t, w.said.String, func() bool {
		return slices.ContainsFunc(w.alerts("agent-edits-assigned-files"), func(a api.Alert) bool {
			return a.Summary == "three, two: one changes what another was started for: guide/a.md"
		})
	})
	await(t, w.said.String, func() bool {
		mails, err := w.client().Mails(t.Context(), "two", true)
		return err == nil && slices.ContainsFunc(mails.Mail, func(m api.Mail) bool {
			return m.Subject == "You change files that three was started for" && strings.Contains(m.Body, "guide/a.md")
		})
	})
}
