package checkoutprimary_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/checkoutprimary"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

func free(_ context.Context, path string) ([]int, error) {
	if _, err := os.Lstat(path + "/.git/occupied"); err == nil {
		return []int{7}, nil
	}
	return nil, nil
}

func target(r *gittest.Repo, branch string) fleet.Action {
	return fleet.Action{Do: checkoutprimary.Name, Target: fleet.Target{Repo: &fleet.Repo{Path: r.Top, Owner: fleet.OwnerConfigured, Pinned: true,
		Primary: fleet.Known("main"), Branch: fleet.Known(branch), Head: fleet.Known(r.Git(r.Top, "rev-parse", "HEAD"))}}}
}

func git(t *testing.T, a fleet.Action, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@x"}, args...)...)
	cmd.Dir = a.Target.Repo.Path
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %s", args, out)
	}
}

func write(t *testing.T, a fleet.Action, rel string) {
	t.Helper()
	if err := os.WriteFile(a.Target.Repo.Path+"/"+rel, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: checkoutprimary.New(checkoutprimary.Options{Occupied: free}),
		Setup: func(t *testing.T) fleet.Action {
			r := gittest.New(t)
			r.Git(r.Top, "checkout", "-q", "-b", "feature")
			r.Commit(r.Top, "b", "b\n")
			return target(r, "feature")
		},
		Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, a.Target.Repo.Path) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"dirty":     func(t *testing.T, a fleet.Action) { write(t, a, "README") },
			"untracked": func(t *testing.T, a fleet.Action) { write(t, a, "new") },
			"commit":    func(t *testing.T, a fleet.Action) { git(t, a, "commit", "-q", "--allow-empty", "-m", "x") },
			"branch":    func(t *testing.T, a fleet.Action) { git(t, a, "checkout", "-q", "-b", "third") },
			"bisect":    func(t *testing.T, a fleet.Action) { git(t, a, "bisect", "start") },
			"occupied":  func(t *testing.T, a fleet.Action) { write(t, a, ".git/occupied") },
			"primary checked out elsewhere": func(t *testing.T, a fleet.Action) {
				git(t, a, "worktree", "add", "-q", t.TempDir()+"/m", "main")
			},
		},
		Gone: func(t *testing.T, a fleet.Action) { git(t, a, "checkout", "-q", "main") },
	})
}

func TestDetachedWithCommitsOfItsOwn(t *testing.T) {
	r := gittest.New(t)
	x := checkoutprimary.New(checkoutprimary.Options{Occupied: free})
	r.Git(r.Top, "checkout", "-q", "--detach")
	acttest.Do(t, x, target(r, ""))
	r.Git(r.Top, "checkout", "-q", "--detach")
	r.Commit(r.Top, "b", "b\n")
	if _, err := x.Prepare(t.Context(), target(r, "")); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), "on no branch") {
		t.Errorf("detached with commits: %v", err)
	}
}

func TestIgnoredFilesAreNotOverwritten(t *testing.T) {
	r := gittest.New(t)
	r.Git(r.Top, "checkout", "-q", "-b", "feature")
	r.Git(r.Top, "checkout", "-q", "main")
	r.Write(r.Top+"/.env", "tracked in main\n")
	r.Git(r.Top, "add", "-f", ".env")
	r.Git(r.Top, "commit", "-q", "-m", "env")
	r.Git(r.Top, "checkout", "-q", "feature")
	r.Write(r.Top+"/.env", "SECRET\n")
	run, err := checkoutprimary.New(checkoutprimary.Options{Occupied: free}).Prepare(t.Context(), target(r, "feature"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Do(t.Context()); err == nil {
		t.Error("an ignored file was overwritten")
	}
	if got := gittest.Files(t, r.Top)[".env"]; got != "SECRET\n" {
		t.Errorf(".env is %q", got)
	}
}

func TestRefuses(t *testing.T) {
	r := gittest.New(t)
	r.Git(r.Top, "checkout", "-q", "-b", "feature")
	x := checkoutprimary.New(checkoutprimary.Options{Occupied: free})
	for name, change := range map[string]func(*fleet.Repo){
		"foreign":         func(p *fleet.Repo) { p.Owner = fleet.OwnerForeign },
		"not pinned":      func(p *fleet.Repo) { p.Pinned = false },
		"primary unknown": func(p *fleet.Repo) { p.Primary = fleet.Unknown[string]("?") },
		"head unknown":    func(p *fleet.Repo) { p.Head = fleet.Unknown[string]("?") },
	} {
		a := target(r, "feature")
		change(a.Target.Repo)
		if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
