package daemon_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// TestPausedProject: of a paused project an agent that dies stays dead and is told
// to nobody, also by the next daemon, and none is started; another project goes on.
// Resumed, it is brought back.
func TestPausedProject(t *testing.T) {
	w := newTown(t, "[rule.agent-crashed]\ncooldown = \"1s\"\n[limits]\nsettle = \"100ms\"\nstagger = \"0s\"\n[recover]\nsettle = \"200ms\"\n")
	for name, project := range map[string]string{"a": "shop", "b": "bank"} {
		s := &api.SpawnRequest{Kind: "claude", Project: project, Dir: filepath.Join(w.dir, "work"), Prompt: "fake reply hello"}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("spawn %s: %+v\n%s", name, o, w.said)
		}
		w.awaitState(name, "idle")
	}
	if _, err := w.client().Pause(t.Context(), api.PauseRequest{Project: "shpo"}); err == nil || !strings.Contains(err.Error(), `did you mean "shop"`) {
		t.Errorf("a slip was taken: %v", err)
	}
	if _, err := w.client().Pause(t.Context(), api.PauseRequest{Project: "shop", Why: "moving"}); err != nil {
		t.Fatal(err)
	}
	was := w.agent("b").PID
	for _, name := range []string{"a", "b"} {
		if err := syscall.Kill(w.pidOf(name), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	await(t, w.said.String, func() bool { pid := w.agent("b").PID; return pid != 0 && pid != was && !w.acting() })
	held := func() bool {
		found := w.alerts("agent-crashed")
		for _, a := range found {
			if a.Subject == "agent/a" && a.Status == "firing" && a.SilencedUntil != nil {
				return true
			}
		}
		return false
	}
	await(t, w.said.String, held)
	w.kill()
	before := w.said.String()
	w.start()
	await(t, w.said.String, held)
	story, err := w.client().Story(t.Context(), "agent/a")
	if err != nil || w.agent("a").PID != 0 || strings.Contains(before+w.said.String(), "agent/a") {
		t.Errorf("paused: %+v, %v\n%s%s", w.agent("a"), err, before, w.said)
	}
	found := false
	for _, k := range story.Skipped {
		found = found || k.Do == "recover" && strings.Contains(k.Why, "project shop is paused")
	}
	if !found {
		t.Errorf("why not is not told: %+v", story.Skipped)
	}
	if s, err := status(t.Context(), w.cfg); err != nil || len(s.Paused) != 1 || !strings.HasPrefix(s.Paused[0], "shop, by ") || !strings.HasSuffix(s.Paused[0], ": moving") {
		t.Errorf("status: %q, %v", s.Paused, err)
	}
	if _, err := w.client().Pause(t.Context(), api.PauseRequest{Project: "shop", Resume: true}); err != nil {
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool { return w.agent("a").PID != 0 })
	if _, err := w.client().Pause(t.Context(), api.PauseRequest{Project: "shop", Resume: true}); err == nil {
		t.Error("what is not paused was resumed")
	}
}
