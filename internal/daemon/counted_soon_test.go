package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/api"
)

// oneResponse keeps a conversation with one response in a file, in a folder that was not there before.
const oneResponse = `
at=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
mkdir -p "$HOME/.claude/projects/-%[1]s"
echo '{"type":"assistant","sessionId":"%[1]s","timestamp":"'$at'","requestId":"r","message":{"id":"%[1]s","role":"assistant","model":"claude-opus-4-5","usage":{"input_tokens":1000,"output_tokens":200}}}' >> "$HOME/.claude/projects/-%[1]s/%[1]s.jsonl"
`

// countedSoon is when a response is counted at the latest, on a busy machine: long before all folders are listed again.
const countedSoon = 10 * time.Second

// TestTheFirstResponseIsCountedSoon: of an agent without a terminal that began just now, also where it has ended before
// its conversation was looked for.
func TestTheFirstResponseIsCountedSoon(t *testing.T) {
	w := foundTown(t, quickLimits)
	old := filepath.Join(w.dir, ".claude/projects/-old")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"type":"assistant","sessionId":"old","timestamp":%q,"requestId":"r","message":{"id":"old","role":"assistant","model":"claude-opus-4-5","usage":{"input_tokens":1000,"output_tokens":200}}}`+"\n", time.Now().UTC().Format(time.RFC3339))
	if err := os.WriteFile(filepath.Join(old, "old.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.awaitCounted("old") // all folders were listed just now
	for _, c := range [][2]string{{"lives", "sleep 600"}, {"ended", "exit 0"}} {
		name, then := c[0], c[1]
		s := &api.SpawnRequest{Kind: "claude", Argv: []string{w.script(name, fmt.Sprintf(oneResponse, "5228af1e-"+name)+then)}, Dir: filepath.Join(w.dir, "work"), Prompt: "go", Headless: true}
		if o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: s}); o.State != "done" {
			t.Fatalf("%+v", o)
		}
		file := filepath.Join(w.dir, ".claude/projects/-5228af1e-"+name, "5228af1e-"+name+".jsonl")
		await(t, w.said.String, func() bool { _, err := os.Stat(file); return err == nil })
		written := time.Now()
		w.awaitCounted("5228af1e-" + name)
		if took := time.Since(written); took > countedSoon {
			t.Errorf("%s: its response was counted %v after it was written", name, took.Round(time.Millisecond))
		} else {
			t.Logf("%s: counted after %v", name, took.Round(time.Millisecond))
		}
	}
}

// awaitCounted waits until what a conversation used is counted.
func (w *town) awaitCounted(session string) {
	w.Helper()
	c := w.client()
	defer c.Close()
	var costs api.Costs
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", costs, w.said) }, func() bool {
		var err error
		costs, err = c.Costs(w.Context(), "1h", "session")
		for _, row := range costs.Rows {
			if err == nil && row.Key == session {
				return true
			}
		}
		return false
	})
}
