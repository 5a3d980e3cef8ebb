package daemon_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestHeartbeat: an agent that promised one, and is silent, is missed; its own
// custos heartbeat ends that. Nobody else's is taken.
func TestHeartbeat(t *testing.T) {
	w := newTown(t, "[agents]\nevery = \"1s\"\n")
	s := &api.SpawnRequest{Kind: "claude", Dir: filepath.Join(w.dir, "work"), Prompt: "fake reply hello", Heartbeat: "4s", Grace: "1s"}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "watcher", Spawn: s}); o.State != "done" {
		t.Fatalf("%+v\n%s", o, w.said)
	}
	w.judged("heartbeat-missed", "agent/watcher")
	if out, code := says(t, w.dir, "heartbeat"); code != 2 || !strings.Contains(out, "only an agent gives one") {
		t.Errorf("a person's heartbeat ended with %d: %s", code, out)
	}
	c := command(t, w.dir, "heartbeat")
	c.Env = append(c.Env, "CUSTOS_AGENT=watcher:i") // as in every command that the agent runs
	if out, err := c.CombinedOutput(); err != nil || string(out) != "Noted: watcher is at work.\n" {
		t.Fatalf("%v: %s", err, out)
	}
	await(t, w.said.String, func() bool {
		return slices.ContainsFunc(w.alerts("heartbeat-missed"), func(a api.Alert) bool { return a.Subject == "agent/watcher" && a.Status == "resolved" })
	})
	w.judged("heartbeat-missed", "agent/watcher")
	if a := w.agent("watcher"); a.State != "idle" {
		t.Errorf("its own word made it %s (%s)", a.State, a.Reason)
	}
}
