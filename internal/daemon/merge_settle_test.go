package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// settling are the keys of a queue whose conflicts are settled where that can be done.
const settling = `rerere = true
[[merge.shop.regenerate]]
files = ["f.sum"]
run = ["/bin/sh", "-e", "DIR/anew"]
timeout = "1m"`

// settlings are where the daemon is killed while it settles conflicts.
var settlings = []string{"after merge-tree --write-tree -z --messages", "after rerere.autoupdate=true rerere", "before worktree add --quiet --detach --no-checkout", "after worktree add --quiet --detach --no-checkout",
	"after checkout-index --all", "anew begins", "anew ends", "before diff-files", "after update-index -z --add", "after write-tree", "before worktree remove", "after commit-tree", "after worktree add"}

// A branch that conflicts in a file that is made anew, and in one that a person has resolved once, lands with both, though
// the daemon is killed at each boundary of that; nothing is left, and the person's checkout and records are as they were.
func TestMergeSettlesKilledAtEveryBoundary(t *testing.T) {
	w := newMergeTown(t, 1, "0s", settling)
	script := dies("begins") + "\ncat f.go >> f.sum\n" + dies("ends") + "\n"
	w.repo.Write(filepath.Join(w.dir, "anew"), strings.NewReplacer("gate begins", "anew begins", "gate ends", "anew ends", "DIR", w.dir).Replace(script))
	w.repo.Git("origin.git", "config", "core.logAllRefUpdates", "always")
	w.branch("b1", "f.sum", "mine\n")
	top, other := filepath.Join(w.repo.Dir, "b1"), filepath.Join(w.repo.Dir, "other")
	w.repo.Git(w.repo.Top, "worktree", "add", "-q", top, "b1")
	commits := map[string]string{"b1": w.repo.Commit(top, "f.go", "mine\n")}
	w.repo.Git(w.repo.Dir, "clone", "-q", "origin.git", "other")
	w.repo.Commit(other, "f.sum", "theirs\n")
	w.repo.Commit(other, "f.go", "theirs\n")
	w.repo.Git(other, "push", "-q", "origin", "main")
	w.repo.Git(w.repo.Top, "fetch", "-q", "origin")
	w.repo.Git(top, "checkout", "-q", "--detach", "origin/main")
	_, _ = w.repo.Try(top, "-c", "rerere.enabled=true", "merge", "-q", "b1")
	w.repo.Write(filepath.Join(top, "f.go"), "both\n")
	w.repo.Git(top, "-c", "rerere.enabled=true", "commit", "-qam", "by hand")
	w.repo.Git(w.repo.Top, "worktree", "remove", "--force", top)
	records, _ := filepath.Glob(filepath.Join(w.repo.Top, ".git", "rr-cache", "*", "*"))
	before := contents(t, records)
	w.arm(settlings...)
	w.addSomehow("b1")
	kills := w.killed()
	if all, _ := w.items(); all["b1"].State == "" {
		w.add("b1")
		kills += w.killed()
	}
	if m := w.awaitOver()["b1"]; m.State != "merged" {
		t.Fatalf("%+v\n%s", m, w.said)
	}
	if kills != len(settlings) {
		t.Errorf("it was killed %d times, want %d", kills, len(settlings))
	}
	if sum, text := w.repo.Git("origin.git", "show", "main:f.sum"), w.repo.Git("origin.git", "show", "main:f.go"); sum != "theirs\nboth" || text != "both" {
		t.Errorf("%q, %q", sum, text)
	}
	if said, code := w.says("merge", "show", "mq1"); code != 0 || !strings.Contains(said, "Made anew: f.sum") || !strings.Contains(said, "Resolved as recorded: f.go") {
		t.Errorf("%d: %s", code, said)
	}
	if after := contents(t, records); !slices.Equal(after, before) || len(records) == 0 {
		t.Errorf("records %q, were %q", after, before)
	}
	w.landedSince(commits, 1)
	w.isClean()
}

func contents(t *testing.T, files []string) (all []string) {
	t.Helper()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}
