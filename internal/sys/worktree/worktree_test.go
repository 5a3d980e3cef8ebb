package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, args := range [][]string{{"init", "-q", "app"}, {"-C", "app", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"}, {"-C", "app", "worktree", "add", "-q", in("one")}, {"-C", "app", "worktree", "add", "-q", in("two")}} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatal(string(out), err)
		}
	}
	if err := os.MkdirAll(in("one", "deep", "er"), 0o700); err != nil {
		t.Fatal(err)
	}
	common := in("app", ".git")
	for from, want := range map[string]Place{
		in("one", "deep", "er"): {Top: in("one"), GitDir: filepath.Join(common, "worktrees", "one"), Common: common, Others: []string{in("app"), in("two")}},
		in("app"):               {Top: in("app"), GitDir: common, Common: common, Others: []string{in("one"), in("two")}},
		in("none"):              {},
	} {
		if diff := cmp.Diff(want, Find(from)); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
	}
}
