package spawn

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/git"

	"pgregory.net/rapid"
)

// Where a worktree is made, from the registration alone.
func TestTree(t *testing.T) {
	x, other := &Action{}, &Action{o: Options{Worktrees: "/trees"}}
	for _, c := range []struct {
		x            *Action
		r            fleet.Registration
		path, branch string // "" when none is made
	}{
		{x, fleet.Registration{Name: "a b"}, "", ""},
		{x, fleet.Registration{Name: "a", Repo: "/r"}, "", ""},
		{x, fleet.Registration{Name: "a b/..", Repo: "/r/", Branch: "x"}, "/r.worktrees/a-b", "x"},
		{other, fleet.Registration{Name: "a", Repo: "/r", Branch: "x"}, "/trees/a", "x"},
		{other, fleet.Registration{Name: "a.b", Repo: "/r", Worktree: "/w"}, "/w", "agent/a-b"},
		{other, fleet.Registration{Name: "run-1", Repo: "/r", Detached: true}, "/trees/run-1", ""},
		{other, fleet.Registration{Name: "a", Repo: "/r", Worktree: "/w", Branch: "x", Instance: "i"}, "", ""},
	} {
		got := c.x.tree(c.r)
		if (got == nil) != (c.path == "") || got != nil && (got.Path != c.path || got.Branch != c.branch) {
			t.Errorf("%+v: %+v", c.r, got)
		}
	}
}

// A name never leads out of the folder, whatever it holds.
func TestSlug(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := slug(rapid.String().Draw(t, "name"))
		for _, c := range s {
			if c == '/' || c == '.' || c <= ' ' || c > '~' {
				t.Fatalf("%q", s)
			}
		}
		if s == "" || s[0] == '-' || len(s) > 60 {
			t.Fatalf("%q", s)
		}
	})
}

// A branch begins where another one stands, here before as it was pushed; where that is gone, or is
// no name, at the primary branch.
func TestABranchBeginsWhereAnotherStands(t *testing.T) {
	repo := t.TempDir()
	g := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func() string {
		g("commit", "-q", "--allow-empty", "-m", "one")
		return g("rev-parse", "HEAD")
	}
	g("init", "-q", "-b", "main")
	main := commit()
	g("checkout", "-q", "-b", "begun")
	pushed := commit()
	g("update-ref", "refs/remotes/origin/begun", pushed)
	g("update-ref", "refs/remotes/origin/elsewhere", pushed)
	begun := commit()
	for from, want := range map[string]string{"": main, "begun": begun, "elsewhere": pushed, "gone": main, "no name..": main, "--upload-pack=x": main} {
		r := starting(repo, from)
		if err := r.checkTree(t.Context()); err != nil || r.tree.Start != want {
			t.Errorf("from %q: %s, %v; want %s", from, r.tree.Start, err, want)
		}
	}
}

func starting(repo, from string) *run {
	x := &Action{o: Options{Git: git.New(git.Options{})}}
	reg := fleet.Registration{Name: "next", Repo: fleet.Path(repo), Branch: "agent/next", Worktree: fleet.Path(filepath.Join(repo+".worktrees", "next")), From: from}
	return &run{x: x, reg: reg, tree: x.tree(reg)}
}
