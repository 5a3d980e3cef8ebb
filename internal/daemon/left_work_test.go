package daemon_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// TestWhatAnAgentLeftIsBackedUpThoughNothingIsConfigured: an agent of any command that has
// ended for good leaves work in the worktree that Custos made for it, in a repository that
// custos.toml does not name. It is told of, and backed up.
func TestWhatAnAgentLeftIsBackedUpThoughNothingIsConfigured(t *testing.T) {
	w := newTown(t, "[git]\nevery = \"1s\"\n[rule.agent-left-work]\nfor = \"1s\"\n")
	repo := filepath.Join(w.dir, "project")
	git(t, w.dir, "init", "-q", "-b", "main", repo)
	git(t, repo, "-c", "user.name=T", "-c", "user.email=t@x", "commit", "-q", "--allow-empty", "-m", "x")
	o := w.order(api.OrderRequest{Do: "spawn", Agent: "one", Spawn: &api.SpawnRequest{Kind: "generic", Headless: true, Restart: "never", Repo: repo, Worktree: true,
		Argv: []string{"sh", "-c", "echo p2 > new.txt; exec sleep 600"}}})
	if o.State != "done" {
		t.Fatalf("%+v\n%s", o, w.said)
	}
	if err := syscall.Kill(w.pidOf("one"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.awaitState("one", "crashed")
	w.judged("agent-left-work", "agent/one")
	ref := ""
	await(t, w.said.String, func() bool {
		ref = git(t, repo, "for-each-ref", "--format=%(refname)", "refs/custos/backup")
		return ref != ""
	})
	if got := git(t, repo, "show", strings.Fields(ref)[0]+":new.txt"); got != "p2" {
		t.Errorf("the backup holds %q", got)
	}
}
