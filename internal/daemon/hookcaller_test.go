package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestHooksAreWhoseTheKernelSays: an agent, and somebody who is none, post a hook in
// the name of another agent. It changes nothing for that one: what the agent posts is
// its own, and what a stranger posts is nobody's of ours.
func TestHooksAreWhoseTheKernelSays(t *testing.T) {
	w := newTown(t, "[agents]\nevery = \"1s\"\n[limits]\nspawn_memory = \"0\"\nstagger = \"0s\"\n")
	w.spawn("victim", "reply hello", false)
	w.awaitState("victim", "idle")
	forge := fmt.Sprintf(`echo '{"session_id":"s","error":"rate_limit"}' | env CUSTOS_AGENT=victim:%s CUSTOS_RUN=%s %s claude StopFailure`,
		w.instance("victim"), filepath.Join(w.dir, "s", "run"), filepath.Join(w.bin, "custos-hook"))
	if out, err := exec.Command("sh", "-c", forge).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	done := filepath.Join(w.dir, "work", "done")
	w.spawnArgv("liar", w.script("liar", forge+"\ntouch "+done+"\nexec sleep 600"))
	await(t, w.said.String, func() bool { _, err := os.Stat(done); return err == nil })
	w.awaitState("liar", "rate_limited") // it said so of itself, then
	if a := w.awaitState("victim", "idle", "rate_limited"); a.State != "idle" {
		t.Errorf("the victim is %s: %s", a.State, a.Reason)
	}
}
