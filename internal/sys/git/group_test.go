package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

func TestOfHistory(t *testing.T) {
	r := gittest.New(t)
	g := git.New(git.Options{})
	first := r.Git(r.Top, "rev-parse", "HEAD")
	side := r.Commit(r.Worktree("side"), "s", "s\n")
	r.Git(r.Top, "merge", "-q", "--no-ff", "-m", "a subject\n\nand more", "side")
	tip := r.Git(r.Top, "rev-parse", "HEAD")
	for _, c := range []struct {
		commit, of string
		in, own    bool
	}{{first, tip, true, true}, {side, tip, true, false}, {tip, tip, true, true}, {tip, first, false, false}, {side, first, false, false}} {
		in, err := g.IsAncestor(t.Context(), r.Top, c.commit, c.of)
		own, err2 := g.OnFirstParents(t.Context(), r.Top, c.commit, c.of)
		if err != nil || err2 != nil || in != c.in || own != c.own {
			t.Errorf("%s of %s: %v, %v; %v, %v", c.commit, c.of, in, own, err, err2)
		}
	}
	if _, err := g.IsAncestor(t.Context(), r.Top, strings.Repeat("1", 40), tip); err == nil {
		t.Error("of a commit that is not there nothing is known")
	}
	tree, err := g.Tree(t.Context(), r.Top, tip)
	subject, err2 := g.Subject(t.Context(), r.Top, tip)
	if err != nil || err2 != nil || tree != r.Git(r.Top, "rev-parse", "HEAD^{tree}") || subject != "a subject" {
		t.Errorf("%s, %q; %v, %v", tree, subject, err, err2)
	}
}

// What was made on a branch is told from what it was only moved to.
func TestMadeOn(t *testing.T) {
	r := gittest.New(t)
	g := git.New(git.Options{})
	top := r.Worktree("x")
	tip := func() string { return r.Git(top, "rev-parse", "HEAD") }
	for _, c := range []struct {
		how  string
		do   func()
		made bool
	}{
		{"begun", func() {}, false},
		{"committed", func() { r.Commit(top, "one", "1\n") }, true},
		{"amended", func() { r.Git(top, "commit", "-q", "--amend", "-m", "reset: moving to x") }, true},
		{"wound forward", func() { r.Commit(r.Top, "main", "m\n"); r.Git(top, "reset", "-q", "--hard", "main") }, false},
		{"pulled", func() { r.Commit(r.Top, "main", "n\n"); r.Git(top, "merge", "-q", "--ff-only", "main") }, false},
		{"merged", func() {
			r.Commit(top, "two", "2\n")
			r.Commit(r.Top, "main", "o\n")
			r.Git(top, "merge", "-q", "--no-edit", "main")
		}, true},
		{"picked", func() {
			r.Commit(r.Worktree("y"), "y", "y\n")
			r.Commit(top, "three", "3\n")
			r.Git(top, "cherry-pick", "y")
		}, true},
		{"reverted", func() { r.Git(top, "revert", "--no-edit", "HEAD") }, true},
		{"rebased", func() {
			r.Git(top, "reset", "-q", "--hard", "HEAD~2")
			r.Commit(r.Top, "main", "p\n")
			r.Git(top, "rebase", "-q", "main")
		}, true},
		{"rebased to nothing", func() { r.Git(top, "reset", "-q", "--hard", "main~1"); r.Git(top, "rebase", "-q", "main") }, false},
	} {
		c.do()
		if made, err := g.MadeOn(t.Context(), r.Top, "x", tip()); err != nil || made != c.made {
			t.Errorf("%s: %v, %v; %s", c.how, made, err, r.Git(top, "reflog", "-3", "x"))
		}
	}
	for _, name := range []string{"absent", "../../x", "--all"} {
		if made, err := g.MadeOn(t.Context(), r.Top, name, tip()); made {
			t.Errorf("%s: %v, %v", name, made, err)
		}
	}
}

// A worktree for gates has all of its commit, and goes with all that was left in it.
func TestAddWholeAndDiscard(t *testing.T) {
	r := gittest.New(t)
	w := git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
	r.Git(r.Top, "sparse-checkout", "set", "--no-cone", "/README")
	plan := git.WorktreePlan{Repo: r.Top, Path: filepath.Join(r.Dir, "gates"), Start: r.Git(r.Top, "rev-parse", "HEAD")}
	must(t, w.AddWhole(t.Context(), plan))
	if _, err := os.Stat(filepath.Join(plan.Path, "a.txt")); err != nil {
		t.Error(err)
	}
	if got := r.Git(plan.Path, "status", "--porcelain"); got != "" {
		t.Error(got)
	}
	r.Write(filepath.Join(plan.Path, "deep/er/file"), "x")
	must(t, os.Chmod(filepath.Join(plan.Path, "deep"), 0o500))
	for range 2 {
		must(t, w.Discard(t.Context(), plan))
	}
	if list := r.Git(r.Top, "worktree", "list"); strings.Contains(list, "gates") {
		t.Error(list)
	}
	keep := filepath.Join(r.Dir, "keep")
	r.Write(filepath.Join(keep, "file"), "x")
	must(t, os.Symlink(keep, plan.Path))
	for _, path := range []string{plan.Path, keep, r.Top, filepath.Join(r.Dir, "origin.git")} {
		if err := w.Discard(t.Context(), git.WorktreePlan{Repo: r.Top, Path: path}); err == nil || !strings.Contains(err.Error(), "it is no worktree of") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(keep, "file")); err != nil {
		t.Error(err)
	}
}
