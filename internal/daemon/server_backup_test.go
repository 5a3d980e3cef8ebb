package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// TestTheWorkOfAllIsBackedUpWhenTheTerminalServerDies: whatever the agents of ours that
// end with their server have left in no commit is in a backup, of those who come back and
// of the one who does not; and who comes back finds it where it was.
func TestTheWorkOfAllIsBackedUpWhenTheTerminalServerDies(t *testing.T) {
	w := newTown(t, quickLimits)
	repo := filepath.Join(w.dir, "work")
	git(t, repo, "init", "-q", "-b", "main")
	git(t, repo, "-c", "user.name=T", "-c", "user.email=t@x", "commit", "-q", "--allow-empty", "-m", "first")
	pids, trees := map[string]int{}, map[string]string{}
	for name, restart := range map[string]string{"a": "", "b": "", "stays": "never"} {
		tree := filepath.Join(w.dir, "wt", name)
		s := &api.SpawnRequest{Kind: "claude", Repo: repo, Dir: tree, Worktree: true, Restart: restart, Prompt: "fake reply hello"}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
		}
		pids[name], trees[name] = w.awaitState(name, "idle").PID, tree
		if err := os.WriteFile(filepath.Join(tree, "notes.txt"), []byte("unsaved "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := strconv.Atoi(w.tmux("display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var saved map[string]bool
	await(t, func() string { return fmt.Sprintf("saved: %v\n%s", saved, w.said) }, func() bool {
		saved = savedNotes(t, repo)
		return saved["unsaved a"] && saved["unsaved b"] && saved["unsaved stays"]
	})
	for _, name := range []string{"a", "b"} {
		w.awaitAgain(name, pids[name])
	}
	for name, tree := range trees {
		if b, err := os.ReadFile(filepath.Join(tree, "notes.txt")); err != nil || string(b) != "unsaved "+name {
			t.Errorf("what %s left is %q, %v", name, b, err)
		}
	}
	if a := w.agent("stays"); a.State != "crashed" {
		t.Errorf("who is never started again: %+v", a)
	}
}

// savedNotes is what the backups of a repository have in notes.txt.
func savedNotes(t *testing.T, repo string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, ref := range strings.Fields(git(t, repo, "for-each-ref", "--format=%(refname)", "refs/custos/backup")) {
		out, _ := exec.Command("git", "-C", repo, "show", ref+":notes.txt").Output() // one without it has none
		found[string(out)] = true
	}
	return found
}
