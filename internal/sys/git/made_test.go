package git_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// What was committed in a worktree is told by its own reflog: not what was pulled
// in, an amended one once, and a merged one still.
func TestCommitsMade(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("work")
	r.Commit(r.Top, "theirs", "1\n")
	r.Commit(top, "b", "1\n")
	r.Git(top, "merge", "-q", "main", "-m", "merge it")
	r.Commit(top, "c", "1\n")
	r.Git(top, "commit", "-q", "--amend", "-m", "better c")
	r.Git(top, "commit", "-q", "--amend", "-m", "best c")
	r.Git(top, "checkout", "-q", "--detach")
	r.Commit(top, "d", "1\n")
	r.Git(top, "reset", "-q", "--hard", "HEAD~1")
	reader := git.New(git.Options{})
	made, more, err := reader.CommitsMade(t.Context(), top, time.Now().Add(-time.Hour))
	if err != nil || more {
		t.Fatal(err)
	}
	var got []string
	for _, m := range made {
		got = append(got, m.Subject)
	}
	want := []string{"change d", "best c", "change b"}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("made %q, want %q", got, want)
	}
	if made, _, err := reader.CommitsMade(t.Context(), top, time.Now().Add(time.Hour)); err != nil || len(made) != 0 {
		t.Errorf("in the future %v was made, %v", made, err)
	}
	if err := os.Remove(filepath.Join(r.Top, ".git/worktrees/work/logs/HEAD")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reader.CommitsMade(t.Context(), top, time.Time{}); err == nil {
		t.Error("without a reflog nothing is known, and it is told")
	}
	if _, _, err := reader.CommitsMade(t.Context(), t.TempDir(), time.Time{}); err == nil {
		t.Error("a folder without a repository")
	}
}

func FuzzParseMade(f *testing.F) {
	f.Add([]byte("a\x00HEAD@{1700000000}\x00commit: x\x00x\x00b\x00HEAD@{1}\x00commit (amend): x\x00x\x00"), int64(5))
	f.Fuzz(func(t *testing.T, out []byte, since int64) {
		made, _, err := git.ParseMade(out, time.Unix(since, 0))
		if err != nil || len(made) > len(out) {
			t.Errorf("%d commits, %v", len(made), err)
		}
		for _, m := range made {
			if m.At.Before(time.Unix(since, 0)) {
				t.Errorf("%s is too old", m.At)
			}
		}
	})
}
