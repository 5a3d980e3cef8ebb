package git_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// A backup is kept only where it holds what neither HEAD nor the one before does.
func TestBackupNew(t *testing.T) {
	r := gittest.New(t)
	at := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{Now: func() time.Time { at = at.Add(time.Second); return at }})
	last, kept := "", 0
	for _, step := range []struct {
		name  string
		do    func()
		fresh bool
		none  bool // HEAD holds everything
	}{
		{name: "clean", none: true},
		{name: "a changed file", do: func() { r.Write("repo/a.txt", "changed\n") }, fresh: true},
		{name: "nothing since"},
		{name: "an untracked file", do: func() { r.Write("repo/new", "1\n") }, fresh: true},
		{name: "the index alone", do: func() { r.Git(r.Top, "add", "new") }, fresh: true},
		{name: "nothing since, with an index"},
		{name: "another index", do: func() { r.Git(r.Top, "add", "a.txt") }, fresh: true},
		{name: "committed", do: func() { r.Git(r.Top, "commit", "-q", "-a", "-m", "x") }, none: true},
		{name: "detached", do: func() { r.Git(r.Top, "checkout", "-q", "--detach") }, fresh: true},
		{name: "its last one is gone", do: func() { r.Git(r.Top, "update-ref", "-d", last); kept-- }, fresh: true},
	} {
		if step.do != nil {
			step.do()
		}
		p, err := git.At(r.Top)
		if err != nil {
			t.Fatal(err)
		}
		before := last
		ref, fresh, err := w.BackupNew(t.Context(), p, last)
		if err != nil || fresh != step.fresh || (ref == "") != step.none {
			t.Fatalf("%s: %q, fresh %v, %v", step.name, ref, fresh, err)
		}
		if fresh {
			kept++
		} else if !step.none && ref != before {
			t.Errorf("%s: %q, want the last one, %q", step.name, ref, before)
		}
		if ref != "" {
			last = ref
		}
		if refs := strings.Fields(r.Git(r.Top, "for-each-ref", "--format=%(refname)", git.BackupRefs)); len(refs) != kept {
			t.Errorf("%s: refs %v, want %d", step.name, refs, kept)
		}
	}
}
