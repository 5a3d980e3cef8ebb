package removeworktree_test

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
	"custos/internal/act/acttest"
	"custos/internal/act/removeworktree"
	"custos/internal/fleet"
	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// occupied asks the kernel about the processes of this user that can be read.
func occupied(_ context.Context, path string) ([]int, error) {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	var pids []int
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && (cwd == path || strings.HasPrefix(cwd, path+"/")) {
			pids = append(pids, 1)
		}
	}
	return pids, err
}

func target(r *gittest.Repo, top string) fleet.Action {
	branch, _ := r.Try(top, "symbolic-ref", "--quiet", "--short", "HEAD")
	return fleet.Action{Do: removeworktree.Name, Target: fleet.Target{Worktree: &fleet.Worktree{
		Path: fleet.Path(top), Repo: fleet.Path(r.Top), Owner: fleet.OwnerConfigured,
		Head: fleet.Known(r.Git(top, "rev-parse", "HEAD")), Branch: fleet.Known(strings.TrimSpace(branch))}}}
}

func top(a fleet.Action) string  { return fleet.RawPath(a.Target.Worktree.Path) }
func repo(a fleet.Action) string { return fleet.RawPath(a.Target.Worktree.Repo) }

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@x"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %s", args, out)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: removeworktree.New(removeworktree.Options{Occupied: occupied}),
		Setup: func(t *testing.T) fleet.Action {
			r := gittest.New(t)
			w := r.Worktree("w")
			r.Commit(w, "b", "b\n")
			r.Squash("w")
			r.Write(w+"/target/x", "output")
			return target(r, w)
		},
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			return acttest.Tree(t, top(a), repo(a)+"/.git/refs", repo(a)+"/.git/worktrees", repo(a)+"/README")
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"dirty":       func(t *testing.T, a fleet.Action) { write(t, top(a)+"/README") },
			"untracked":   func(t *testing.T, a fleet.Action) { write(t, top(a)+"/new") },
			".env":        func(t *testing.T, a fleet.Action) { write(t, top(a)+"/.env") },
			"locked":      func(t *testing.T, a fleet.Action) { run(t, repo(a), "worktree", "lock", top(a)) },
			"commit":      func(t *testing.T, a fleet.Action) { run(t, top(a), "commit", "-q", "--allow-empty", "-m", "x") },
			"branch":      func(t *testing.T, a fleet.Action) { run(t, top(a), "checkout", "-q", "-b", "another") },
			"crashed":     func(t *testing.T, a fleet.Action) { write(t, top(a)+"/.custos-crashed") },
			"stash":       func(t *testing.T, a fleet.Action) { write(t, top(a)+"/README"); run(t, top(a), "stash") },
			"folder gone": func(t *testing.T, a fleet.Action) { os.RemoveAll(top(a)) },
			"not ours any more": func(t *testing.T, a fleet.Action) {
				run(t, repo(a), "worktree", "remove", "--force", top(a))
				write(t, top(a)+"/something")
			},
			"occupied": func(t *testing.T, a fleet.Action) { stand(t, top(a)) },
		},
		Gone: func(t *testing.T, a fleet.Action) { run(t, repo(a), "worktree", "remove", "--force", top(a)) },
	})
}

// stand starts a process that stands in a folder until the test ends.
func stand(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func TestNothingIsLost(t *testing.T) {
	r := gittest.New(t)
	w := r.Worktree("w")
	lost := r.Commit(w, "b", "dropped\n")
	r.Git(w, "reset", "-q", "--hard", "HEAD~")
	r.Write(w+"/.custos-crashed", "why")
	r.Write(w+"/node_modules/x/y", "output")
	r.Age(25*time.Hour, w, r.Top+"/.git/worktrees")
	mine := gittest.Files(t, w)
	delete(mine, "node_modules/x/y")
	effect := acttest.Do(t, removeworktree.New(removeworktree.Options{Occupied: occupied}), target(r, w))
	if !strings.Contains(effect, "freed") {
		t.Errorf("effect %q", effect)
	}
	ref := effect[strings.LastIndex(effect, " ")+1:]
	again := filepath.Join(r.Dir, "again")
	r.Git(r.Top, "worktree", "add", "-q", "--detach", again, ref)
	if got := gittest.Files(t, again); !maps.Equal(got, mine) {
		t.Errorf("restored %q, want %q", got, mine)
	}
	r.Git(r.Top, "merge-base", "--is-ancestor", lost, ref)
	r.Git(r.Top, "rev-parse", "--verify", "refs/heads/w") // the branch stays
}

// What was preserved after a crash goes after its day, with everything in it that
// HEAD does not hold; all of that comes back from the backup.
func TestACrashedWorktreeWithWorkIsSavedAndGoes(t *testing.T) {
	r := gittest.New(t)
	w := r.Worktree("w")
	r.Commit(w, "unmerged", "committed\n")
	r.Write(w+"/README", "changed\n")
	r.Write(w+"/new.txt", "untracked\n")
	r.Write(w+"/.env", "precious\n")
	r.Write(w+"/.custos-crashed", "why")
	x := removeworktree.New(removeworktree.Options{Occupied: occupied})
	if _, err := x.Prepare(t.Context(), target(r, w)); !errors.Is(err, act.ErrRefused) {
		t.Errorf("in its day: %v, want refused", err)
	}
	r.Age(25*time.Hour, w, r.Top+"/.git/worktrees")
	mine := gittest.Files(t, w)
	effect := acttest.Do(t, x, target(r, w))
	again := filepath.Join(r.Dir, "again")
	r.Git(r.Top, "worktree", "add", "-q", "--detach", again, effect[strings.LastIndex(effect, " ")+1:])
	if got := gittest.Files(t, again); !maps.Equal(got, mine) {
		t.Errorf("restored %q, want %q", got, mine)
	}
	if got := r.Git(r.Top, "show", "w:unmerged"); got != "committed" {
		t.Errorf("the branch holds %q", got)
	}
}

// A file that is written while the backup is made is not lost.
func TestWorkAfterTheBackupKeepsACrashedWorktree(t *testing.T) {
	r := gittest.New(t)
	w := r.Worktree("w")
	r.Write(w+"/README", "changed\n")
	place, err := git.At(w)
	if err != nil {
		t.Fatal(err)
	}
	writer := git.NewWriter(git.New(git.Options{}), git.WriterOptions{})
	b, err := writer.Backup(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	r.Write(w+"/late.txt", "late\n")
	if err := writer.RemoveSaved(t.Context(), place, b); err == nil || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("%v, want it kept", err)
	}
	if _, err := os.Stat(w + "/late.txt"); err != nil {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	r := gittest.New(t)
	w, other := r.Worktree("w"), r.Worktree("other")
	a := target(r, w)
	a.Target.Worktree.Missing = true
	x := removeworktree.New(removeworktree.Options{Occupied: occupied})
	os.RemoveAll(w)
	os.RemoveAll(other)
	if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("missing since just now: %v", err)
	}
	r.Age(25*time.Hour, r.Top+"/.git/worktrees")
	acttest.Do(t, x, a)
	if list := r.Git(r.Top, "worktree", "list", "--porcelain"); strings.Contains(list, w+"\n") || !strings.Contains(list, other+"\n") {
		t.Errorf("listed: %s", list)
	}
}

func TestForeignAndBlind(t *testing.T) {
	r := gittest.New(t)
	a := target(r, r.Worktree("w"))
	if _, err := removeworktree.New(removeworktree.Options{}).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("nobody looks at the processes: %v", err)
	}
	a.Target.Worktree.Owner = fleet.OwnerForeign
	if _, err := removeworktree.New(removeworktree.Options{Occupied: occupied}).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("foreign: %v", err)
	}
}

func TestWorkThatBeginsDuringTheBackup(t *testing.T) {
	r := gittest.New(t)
	w := r.Worktree("w")
	calls := 0
	x := removeworktree.New(removeworktree.Options{Occupied: func(context.Context, string) ([]int, error) {
		if calls++; calls > 1 {
			return []int{7}, nil
		}
		return nil, nil
	}})
	prepared, err := x.Prepare(t.Context(), target(r, w))
	if err != nil {
		t.Fatal(err)
	}
	if err := prepared.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "occupied") {
		t.Errorf("Do = %v", err)
	}
	if _, err := os.Lstat(w + "/README"); err != nil {
		t.Error(err)
	}
}

// Whether an agent crashed in it, and nobody comes back, is asked at the instant of
// acting: an agent that is wanted again keeps its worktree, with work in it or without.
func TestAWorktreeThatAnAgentCrashedIn(t *testing.T) {
	r := gittest.New(t)
	w := r.Worktree("w")
	r.Age(25*time.Hour, w, r.Top+"/.git/worktrees")
	var since time.Time
	var fails error
	x := removeworktree.New(removeworktree.Options{Occupied: occupied, CrashedIn: func(_ context.Context, path string) (time.Time, error) {
		if path != w {
			t.Errorf("asked about %q", path)
		}
		return since, fails
	}})
	a := target(r, w)
	a.Target.Worktree.Crashed = true
	refused := func(when, why string) {
		t.Helper()
		if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want refused: %s", when, err, why)
		}
	}
	refused("its agent is wanted again", "it is not kept after a crash any more")
	since = time.Now().Add(-time.Hour)
	refused("in its day", "kept 24 h")
	fails = errors.New("the ledger is locked")
	refused("nobody knows", "the ledger is locked")
	fails, since = nil, time.Now().Add(-25*time.Hour)
	r.Write(w+"/new.txt", "untracked\n")
	effect := acttest.Do(t, x, a)
	again := filepath.Join(r.Dir, "again")
	r.Git(r.Top, "worktree", "add", "-q", "--detach", again, effect[strings.LastIndex(effect, " ")+1:])
	if got := gittest.Files(t, again); got["new.txt"] != "untracked\n" {
		t.Errorf("restored %q", got)
	}
}
