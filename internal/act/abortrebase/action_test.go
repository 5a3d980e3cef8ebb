package abortrebase_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/abortrebase"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

func free(_ context.Context, path string) ([]int, error) {
	if _, err := os.Lstat(path + "/occupied"); err == nil {
		return []int{7}, nil
	}
	return nil, nil
}

func newAction(t *testing.T) *abortrebase.Action {
	t.Helper()
	x, err := abortrebase.New(abortrebase.Options{Occupied: free})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func setup(t *testing.T) (*gittest.Repo, fleet.Action) {
	r := gittest.New(t)
	top := r.Rebase("w")
	r.Write(top+"/a.txt", "half resolved\n")
	r.Write(top+"/new", "untracked\n")
	r.Age(2*time.Hour, r.Top+"/.git/worktrees")
	return r, fleet.Action{Do: abortrebase.Name, Target: fleet.Target{Worktree: &fleet.Worktree{Path: top, Repo: r.Top,
		Owner: fleet.OwnerConfigured, Branch: fleet.Known(""), Head: fleet.Known(r.Git(top, "rev-parse", "HEAD"))}}}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@x"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %s", args, out)
	}
}

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: newAction(t),
		Setup: func(t *testing.T) fleet.Action {
			_, a := setup(t)
			return a
		},
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			return acttest.Tree(t, a.Target.Worktree.Path, a.Target.Worktree.Repo+"/.git/worktrees", a.Target.Worktree.Repo+"/.git/refs")
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"it moved": func(t *testing.T, a fleet.Action) {
				now := time.Now()
				if err := os.Chtimes(filepath.Join(a.Target.Worktree.Repo, ".git/worktrees/w/rebase-merge/done"), now, now); err != nil {
					t.Fatal(err)
				}
			},
			"occupied": func(t *testing.T, a fleet.Action) {
				if err := os.WriteFile(a.Target.Worktree.Path+"/occupied", nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"another operation": func(t *testing.T, a fleet.Action) {
				git(t, a.Target.Worktree.Path, "rebase", "--abort")
				cmd := exec.Command("git", "-c", "user.name=T", "-c", "user.email=t@x", "merge", "main")
				cmd.Dir = a.Target.Worktree.Path
				_ = cmd.Run() // stops at the conflict
			},
		},
		Gone: func(t *testing.T, a fleet.Action) { git(t, a.Target.Worktree.Path, "rebase", "--abort") },
	})
}

func TestAbortIsBackedUp(t *testing.T) {
	r, a := setup(t)
	top := a.Target.Worktree.Path
	mine, origin := gittest.Files(t, top), r.Git(r.Top, "rev-parse", "refs/heads/w")
	effect := acttest.Do(t, newAction(t), a)
	if r.Git(top, "rev-parse", "HEAD") != origin || r.Git(top, "symbolic-ref", "--short", "HEAD") != "w" {
		t.Error("HEAD is not where it was before the rebase")
	}
	if got := gittest.Files(t, top); !strings.Contains(got["a.txt"], "mine") || got["new"] != "untracked\n" {
		t.Errorf("files %q", got)
	}
	again := filepath.Join(r.Dir, "again")
	r.Git(r.Top, "worktree", "add", "-q", "--detach", again, effect[strings.LastIndex(effect, " ")+1:])
	if got := gittest.Files(t, again); !maps.Equal(got, mine) {
		t.Errorf("restored %q, want %q", got, mine)
	}
}

func TestRebaseOfTheMainWorktreeAndByApply(t *testing.T) {
	r := gittest.New(t)
	r.Git(r.Top, "checkout", "-q", "-b", "w")
	r.Commit(r.Top, "a.txt", "mine\n")
	r.Git(r.Top, "checkout", "-q", "main")
	r.Commit(r.Top, "a.txt", "theirs\n")
	r.Git(r.Top, "checkout", "-q", "w")
	_, _ = r.Try(r.Top, "rebase", "--apply", "main")
	r.Age(2*time.Hour, r.Top+"/.git/rebase-apply")
	a := fleet.Action{Do: abortrebase.Name, Target: fleet.Target{Repo: &fleet.Repo{Path: r.Top, Owner: fleet.OwnerConfigured,
		Branch: fleet.Known(""), Head: fleet.Known(r.Git(r.Top, "rev-parse", "HEAD"))}}}
	acttest.Do(t, newAction(t), a)
	a.Target.Repo.Owner = fleet.OwnerForeign
	if _, err := newAction(t).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("foreign: %v", err)
	}
}
