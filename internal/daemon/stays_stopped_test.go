package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestARefusedStartUndoesNoStop: who was stopped by a person, and cannot be started
// when a person wants that, is stopped as before: it is not called crashed, no alert
// fires and nothing starts it. Once it can be started, the same word does it.
func TestARefusedStartUndoesNoStop(t *testing.T) {
	w := newTown(t, "")
	dir := filepath.Join(w.dir, "own")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &api.SpawnRequest{Kind: "claude", Dir: dir, Prompt: "fake reply hello"}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "builder", Spawn: s}); o.State != "done" {
		t.Fatalf("spawn: %+v\n%s", o, w.said)
	}
	w.awaitState("builder", "idle")
	if o := w.order(api.OrderRequest{Do: "stop", Agent: "builder"}); o.State != "done" {
		t.Fatalf("stop: %+v\n%s", o, w.said)
	}
	w.awaitState("builder", "stopped")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	for _, do := range []string{"recover", "spawn"} {
		if o := w.order(api.OrderRequest{Do: do, Agent: "builder"}); o.State != "refused" || !strings.Contains(o.Why, "is not there") {
			t.Errorf("%s: %+v", do, o)
		}
		if _, err := w.client().Patrol(t.Context(), api.PatrolOrder{}); err != nil {
			t.Fatal(err)
		}
		if a := w.agent("builder"); a.Desired != "stopped" || a.State != "stopped" || a.PID != 0 {
			t.Errorf("after a %s that was refused it is %+v", do, a)
		}
		if fired := w.alerts("agent-crashed"); len(fired) != 0 {
			t.Errorf("after a %s that was refused: %+v", do, fired)
		}
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if o := w.order(api.OrderRequest{Do: "recover", Agent: "builder"}); o.State != "done" || w.agent("builder").Desired != "running" {
		t.Errorf("recover: %+v, and it is %+v", o, w.agent("builder"))
	}
}
