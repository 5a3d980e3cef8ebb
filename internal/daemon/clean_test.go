package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestWorktreesAreListedAndCleaned: what worktree list, clean --dry-run and worktree clean
// say of real worktrees, and what they do: nothing without a yes, what is old enough with
// --older, nothing but worktrees, and none in which something would be lost.
func TestWorktreesAreListedAndCleaned(t *testing.T) {
	dir, _ := scratch(t)
	run := func(code int, args ...string) string {
		t.Helper()
		out, got := says(t, dir, args...)
		if got != code {
			t.Fatalf("custos %s ended with %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
		}
		return out
	}
	lie := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(dir, "wt"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if slices.Sort(want); !slices.Equal(names, want) {
			t.Fatalf("there are %v, want %v", names, want)
		}
	}
	kept := []string{"dirty", "occupied", "precious", "stashed", "unpushed", "untracked", "young"}
	crashed, stale := []string{"crashed", "crashed-merged"}, []string{"built", "clean-merged", "squash-merged"}
	listed(t, run(0, "worktree", "list", "--json"), slices.Concat(crashed, stale), []string{"dirty", "precious", "stashed", "unpushed", "untracked"})
	if out := run(0, "worktree", "list"); !strings.Contains(out, "STALE WORKTREES  10, ") || !strings.Contains(out, `no: 1 changed: "dirty.txt"`) {
		t.Errorf("the list:\n%s", out)
	}
	out := run(0, "clean", "--dry-run")
	for _, name := range slices.Concat(crashed, stale) {
		if !strings.Contains(out, "worktree remove -- "+filepath.Join(dir, "wt", name)+" ") {
			t.Errorf("what would be done does not name %s:\n%s", name, out)
		}
	}
	for _, what := range []string{"remove-lock", "rotate-log"} {
		if !strings.Contains(out, what) || strings.Contains(run(0, "worktree", "clean", "--dry-run"), what) {
			t.Errorf("%s is done by clean, and not by worktree clean:\n%s", what, out)
		}
	}
	run(2, "worktree", "clean")
	lie(slices.Concat(kept, crashed, stale)...)
	says(t, dir, "worktree", "clean", "--older", "20h", "--yes")
	lie(slices.Concat(kept, stale)...)
	if out, _ := says(t, dir, "worktree", "clean", "--yes"); strings.Count(out, "done  remove-worktree") != len(stale) {
		t.Errorf("it did:\n%s", out)
	}
	lie(kept...)
	for _, name := range []string{"locks/gardener-poll.lock", "locks/dev-agent-project.lock"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("worktree clean took %s away: %v", name, err)
		}
	}
}

// listed checks which worktrees may go, and which may not, with a reason.
func listed(t *testing.T, text string, may, mayNot []string) {
	t.Helper()
	var look api.FirstLook
	if err := json.Unmarshal([]byte(text), &look); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var free, held []string
	for _, w := range look.Worktrees {
		if len(w.WhyNot) == 0 {
			free = append(free, filepath.Base(w.Path))
		} else {
			held = append(held, filepath.Base(w.Path))
		}
	}
	slices.Sort(free)
	slices.Sort(held)
	slices.Sort(may)
	if !slices.Equal(free, may) || !slices.Equal(held, mayNot) {
		t.Errorf("free %v, held %v; want %v, %v", free, held, may, mayNot)
	}
}
