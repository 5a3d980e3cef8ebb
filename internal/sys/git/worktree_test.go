package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

func newPlan(t *testing.T, folder string) (*gittest.Repo, git.WorktreePlan, *git.Reader, *git.Writer) {
	t.Helper()
	r := gittest.New(t)
	reader := git.New(git.Options{})
	plan := git.WorktreePlan{Repo: r.Top, Path: filepath.Join(r.Dir, folder), Branch: "agent/one", Start: r.Git(r.Top, "rev-parse", "main")}
	return r, plan, reader, git.NewWriter(reader, git.WriterOptions{})
}

func branches(r *gittest.Repo) string {
	return strings.Join(strings.Fields(r.Git(r.Top, "for-each-ref", "--format=%(refname:short)", "refs/heads")), " ")
}

func TestWorktreeIsMadeAndUndone(t *testing.T) {
	for _, folder := range []string{"tree", "a b\n'\"$(x)", "-f"} {
		r, plan, reader, w := newPlan(t, folder)
		if reader.Stands(t.Context(), plan) {
			t.Errorf("%q stands before it is made", folder)
		}
		if err := w.AddWorktree(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if !reader.Stands(t.Context(), plan) || branches(r) != "agent/one main" {
			t.Errorf("%q does not stand; branches %s", folder, branches(r))
		}
		if err := w.AddWorktree(t.Context(), plan); err == nil {
			t.Errorf("%q was made twice", folder)
		}
		if err := w.UndoWorktree(t.Context(), plan, false); err != nil {
			t.Fatal(err)
		}
		if reader.Stands(t.Context(), plan) || branches(r) != "main" || strings.Contains(r.Git(r.Top, "worktree", "list", "--porcelain"), plan.Path) {
			t.Errorf("%q is still there; branches %s", folder, branches(r))
		}
		if err := w.UndoWorktree(t.Context(), plan, false); err != nil {
			t.Errorf("undone twice: %v", err)
		}
	}
}

// A try that was cut off between branch and folder is taken up; a stranger's
// branch is not.
func TestWorktreeTakesUpItsOwnBranchOnly(t *testing.T) {
	r, plan, reader, w := newPlan(t, "tree")
	r.Git(r.Top, "branch", plan.Branch, plan.Start)
	r.Git(r.Top, "tag", plan.Branch, plan.Start) // a tag of that name is no branch
	if err := w.AddWorktree(t.Context(), plan); err != nil || !reader.Stands(t.Context(), plan) {
		t.Errorf("not taken up: %v", err)
	}
	other := plan
	other.Path, other.Branch = filepath.Join(r.Dir, "other"), "theirs"
	r.Git(r.Top, "commit", "-q", "--allow-empty", "-m", "more")
	r.Git(r.Top, "branch", other.Branch)
	if err := w.AddWorktree(t.Context(), other); err == nil || reader.Stands(t.Context(), other) {
		t.Errorf("a stranger's branch was taken: %v", err)
	}
	if err := w.UndoWorktree(t.Context(), other, true); err != nil || !strings.Contains(branches(r), "theirs") {
		t.Errorf("a stranger's branch was undone: %v; branches %s", err, branches(r))
	}
}

// What somebody did in it is not taken away.
func TestUndoKeepsWork(t *testing.T) {
	r, plan, reader, w := newPlan(t, "tree")
	if err := w.AddWorktree(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	r.Write("tree/new", "work\n")
	if err := w.UndoWorktree(t.Context(), plan, false); err == nil || !reader.Stands(t.Context(), plan) || !strings.Contains(branches(r), plan.Branch) {
		t.Errorf("an untracked file was taken away: %v", err)
	}
	r.Git(plan.Path, "add", ".")
	r.Git(plan.Path, "commit", "-q", "-m", "work")
	if err := w.UndoWorktree(t.Context(), plan, true); err != nil || reader.Stands(t.Context(), plan) || !strings.Contains(branches(r), plan.Branch) {
		t.Errorf("%v; branches %s, want the one with a commit of its own kept", err, branches(r))
	}
}

// A checkout that was cut off does not stand, and is made anew or undone whole.
func TestHalfAWorktree(t *testing.T) {
	r, plan, reader, w := newPlan(t, "tree")
	r.Write("repo/.gitattributes", "big filter=slow\n")
	r.Write("repo/big", "big\n")
	r.Git(r.Top, "add", ".")
	r.Git(r.Top, "commit", "-q", "-m", "big")
	plan.Start = r.Git(r.Top, "rev-parse", "main")
	cutOff := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- w.AddWorktree(ctx, plan) }()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if p, err := git.At(plan.Path); err == nil && p.HalfMade() {
				break
			}
			if time.Now().After(deadline) {
				t.Error("git never began")
				break
			}
		}
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("AddWorktree = %v, want cut off", err)
		}
		if _, err := os.Lstat(plan.Path); err != nil || reader.Stands(t.Context(), plan) {
			t.Errorf("half of it stands, or is not there: %v", err)
		}
	}
	r.Git(r.Top, "config", "filter.slow.smudge", "sleep 60; cat")
	cutOff()
	if err := w.UndoWorktree(t.Context(), plan, false); err == nil {
		t.Error("undone without force")
	}
	if err := w.UndoWorktree(t.Context(), plan, true); err != nil || branches(r) != "main" {
		t.Errorf("not undone: %v; branches %s", err, branches(r))
	}
	cutOff()
	r.Git(r.Top, "config", "filter.slow.smudge", "cat")
	if err := w.AddWorktree(t.Context(), plan); err != nil || !reader.Stands(t.Context(), plan) || r.Git(plan.Path, "status", "--porcelain") != "" {
		t.Errorf("not made anew: %v", err)
	}
	r.Git(r.Top, "worktree", "lock", "--reason", "mine", plan.Path)
	if err := w.UndoWorktree(t.Context(), plan, true); err == nil || !reader.Stands(t.Context(), plan) {
		t.Errorf("a person's lock was broken: %v", err)
	}
}

func TestCheckBranch(t *testing.T) {
	r, _, reader, _ := newPlan(t, "tree")
	r.Git(r.Top, "switch", "-q", "-c", "second")
	r.Git(r.Top, "switch", "-q", "main")
	for name, good := range map[string]bool{"agent/one": true, "x": true, "": false, "a b": false, "-x": false, "a..b": false, "@{-1}": false, "x.lock": false, "/x": false} {
		if err := reader.CheckBranch(t.Context(), r.Top, name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
