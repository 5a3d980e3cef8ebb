package clearbuild_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/clearbuild"
	"custos/internal/fleet"
	"custos/internal/sys/gittest"
)

func free(_ context.Context, path string) ([]int, error) {
	if _, err := os.Lstat(path + "/README-occupied"); err == nil {
		return []int{7}, nil
	}
	return nil, nil
}

func setup(t *testing.T) fleet.Action {
	r := gittest.New(t)
	top := r.Worktree("w")
	r.Write(top+"/target/debug/x", strings.Repeat("x", 1<<20))
	r.Write(top+"/README", "work that stays")
	r.Write(top+"/.env", "stays")
	r.Age(time.Hour, top)
	return fleet.Action{Do: clearbuild.Name, Target: fleet.Target{Worktree: &fleet.Worktree{Path: top, Repo: r.Top, Owner: fleet.OwnerConfigured,
		Bulk: fleet.Known([]fleet.Bulk{{Path: "target", What: "target", Bytes: 1 << 20}})}}}
}

func write(t *testing.T, a fleet.Action, rel string, age time.Duration) {
	t.Helper()
	path := a.Target.Worktree.Path + "/" + rel
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	for _, p := range []string{path, a.Target.Worktree.Path + "/target/debug"} {
		if err := os.Chtimes(p, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %s", args, out)
	}
}

func newAction(t *testing.T, o clearbuild.Options) *clearbuild.Action {
	t.Helper()
	x, err := clearbuild.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: newAction(t, clearbuild.Options{Occupied: free}),
		Setup:  setup,
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			return acttest.Tree(t, a.Target.Worktree.Path)
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"being written": func(t *testing.T, a fleet.Action) { write(t, a, "target/debug/y", time.Minute) },
			"precious file": func(t *testing.T, a fleet.Action) { write(t, a, "target/debug/prod.sqlite", time.Hour) },
			"tracked file": func(t *testing.T, a fleet.Action) {
				git(t, a.Target.Worktree.Path, "add", "-f", "target/debug/x")
			},
			"not ignored":   func(t *testing.T, a fleet.Action) { write(t, a, ".gitignore", time.Hour) },
			"no build file": func(t *testing.T, a fleet.Action) { os.Remove(a.Target.Worktree.Path + "/Cargo.toml") },
			"occupied":      func(t *testing.T, a fleet.Action) { write(t, a, "README-occupied", time.Hour) },
			"locked": func(t *testing.T, a fleet.Action) {
				git(t, a.Target.Worktree.Repo, "worktree", "lock", a.Target.Worktree.Path)
			},
			"crashed": func(t *testing.T, a fleet.Action) { write(t, a, ".custos-crashed", time.Hour) },
			"nested": func(t *testing.T, a fleet.Action) {
				git(t, a.Target.Worktree.Path, "init", "-q", "target/inner")
			},
			"a link now": func(t *testing.T, a fleet.Action) {
				p := a.Target.Worktree.Path
				if err := os.Rename(p+"/target", p+"/../elsewhere"); err != nil {
					t.Fatal(err)
				}
				os.Symlink("../elsewhere", p+"/target")
			},
		},
		Gone: func(t *testing.T, a fleet.Action) { os.RemoveAll(a.Target.Worktree.Path + "/target") },
	})
}

func TestOnlyTheOutputGoes(t *testing.T) {
	a := setup(t)
	before := gittest.Files(t, a.Target.Worktree.Path)
	effect := acttest.Do(t, newAction(t, clearbuild.Options{Occupied: free}), a)
	if !strings.HasPrefix(effect, "1.1 MB freed: target") {
		t.Errorf("effect %q", effect)
	}
	after := gittest.Files(t, a.Target.Worktree.Path)
	delete(before, "target/debug/x")
	if len(after) != len(before) || after[".env"] != "stays" || after["README"] != "work that stays" {
		t.Errorf("left %q", after)
	}
	entries, _ := os.ReadDir(a.Target.Worktree.Path + "/..")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".custos") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestRefuses(t *testing.T) {
	a := setup(t)
	if _, err := newAction(t, clearbuild.Options{}).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("nobody looks at the processes: %v", err)
	}
	a.Target.Worktree.Owner = fleet.OwnerForeign
	if _, err := newAction(t, clearbuild.Options{Occupied: free}).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("foreign: %v", err)
	}
	if _, err := clearbuild.New(clearbuild.Options{Quiet: "soon"}); err == nil {
		t.Error("quiet = soon was taken")
	}
}
