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
	w.believesNoMadeUpMarker("watcher")
	c := command(t, w.dir, "heartbeat")
	c.Env = append(c.Env, w.marker("watcher")) // as in every command that the agent runs
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

// believesNoMadeUpMarker: a marker with an instance that never was, or of another agent, is
// no word of that agent.
func (w *town) believesNoMadeUpMarker(name string) {
	w.Helper()
	if out, code := says(w.T, w.dir, "work", "add", "a thing"); code != 0 {
		w.Fatalf("%d: %s", code, out)
	}
	for _, marker := range []string{name + ":0000", "other:" + w.instance(name), name} {
		for _, words := range [][]string{{"heartbeat"}, {"work", "close", "w1"}, {"mail", "send", name, "hello"}} {
			c := command(w.T, w.dir, words...)
			c.Env = append(c.Env, "CUSTOS_AGENT="+marker)
			if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "no agent that this Custos has started") {
				w.Errorf("with the marker %s, %v ended with %v: %s", marker, words, err, out)
			}
		}
	}
}
