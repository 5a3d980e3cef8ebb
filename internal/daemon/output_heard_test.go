package daemon_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/api"
)

// printer begins a turn when a file is there, and ends it when another is; nothing but what it prints tells.
const printer = `
echo '{"type":"system","subtype":"init","session_id":"5228af1e-0000-4000-8000-000000000002","cwd":"/w","model":"claude-opus-4-5"}'
echo '{"type":"result","subtype":"success","session_id":"5228af1e-0000-4000-8000-000000000002"}'
until [ -e "$HOME/begin" ]; do sleep 0.05; done
echo '{"type":"assistant","session_id":"5228af1e-0000-4000-8000-000000000002","message":{"id":"m1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}'
until [ -e "$HOME/end" ]; do sleep 0.05; done
echo '{"type":"result","subtype":"success","session_id":"5228af1e-0000-4000-8000-000000000002"}'
sleep 600
`

// TestOutputAloneIsHeardAtOnce: what an agent without terminal and hooks prints is its state soon after, and not with the next
// look by the clock, which comes after half a minute.
func TestOutputAloneIsHeardAtOnce(t *testing.T) {
	w := newTown(t, quickLimits)
	one := &api.SpawnRequest{Kind: "claude", Argv: []string{w.script("one", printer)}, Dir: filepath.Join(w.dir, "work"), Prompt: "go", Headless: true}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "one", Spawn: one}); o.State != "done" {
		t.Fatalf("%+v", o)
	}
	w.awaitState("one", "idle")
	for _, c := range []struct{ file, state string }{{"begin", "working"}, {"end", "idle"}} {
		if err := os.WriteFile(filepath.Join(w.dir, c.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w.awaitState("one", c.state)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it is %s after %v", c.state, took)
		} else {
			t.Logf("it is %s after %v", c.state, took.Round(10*time.Millisecond))
		}
	}
}
