package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// spender prints what a CLI without a terminal does, while it keeps the same conversation in a file, and then asks
// "custos mcp" what is left for it, each time that a file is there.
const spender = `
at=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
mkdir -p "$HOME/.claude/projects/-w"
echo '{"type":"system","subtype":"init","session_id":"5228af1e-0000-4000-8000-000000000001","cwd":"/w","model":"claude-opus-4-5"}'
for n in 1 2 3; do
  message='{"id":"m'$n'","type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"usage":{"input_tokens":1000,"cache_read_input_tokens":5000,"output_tokens":200}}'
  echo '{"type":"assistant","session_id":"5228af1e-0000-4000-8000-000000000001","message":'$message'}'
  echo '{"type":"assistant","sessionId":"5228af1e-0000-4000-8000-000000000001","timestamp":"'$at'","requestId":"r'$n'","message":'$message'}' >> "$HOME/.claude/projects/-w/5228af1e-0000-4000-8000-000000000001.jsonl"
done
echo '{"type":"result","subtype":"success","session_id":"5228af1e-0000-4000-8000-000000000001","total_cost_usd":0.0375,"usage":{"input_tokens":3000,"cache_read_input_tokens":15000,"output_tokens":600}}'
until [ -e "$HOME/ask" ]; do sleep 0.1; done
{
  echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cost_left","arguments":{}}}'
  until grep -q '"id":2' "$HOME/answer" || [ -e "$HOME/enough" ]; do sleep 0.1; done
} | %s --config "$HOME/custos.toml" mcp > "$HOME/answer"
sleep 600
`

// TestMoneyIsTheSameEverywhere: what an agent without a terminal used, which it prints and keeps in a file, counts once; ps,
// cost by whatever, its budget and what it is told of itself are the same sums.
func TestMoneyIsTheSameEverywhere(t *testing.T) {
	w := newTown(t, quickLimits+"[budget.each]\nscope = \"agent\"\nof = \"one\"\nusd = 100\n[budget.read]\ntokens = 1000000\ncount = \"all\"\n")
	one := &api.SpawnRequest{Kind: "claude", Argv: []string{w.script("one", fmt.Sprintf(spender, filepath.Join(w.bin, "custos")))}, Dir: filepath.Join(w.dir, "work"), Prompt: "go", Headless: true}
	if o := w.order(api.OrderRequest{Do: "spawn", Agent: "one", Spawn: one}); o.State != "done" {
		t.Fatalf("%+v", o)
	}
	w.awaitState("one", "idle")
	w.kill()
	w.start() // which reads all conversations
	const tokens, dollars = int64(3 * 6200), 3 * (0.005 + 0.0025 + 0.005)
	c := w.client()
	var costs api.Costs
	await(t, func() string { return fmt.Sprintf("%+v\n%s", costs, w.said) }, func() (ok bool) {
		var err error
		costs, err = c.Costs(t.Context(), "1h", "agent")
		return err == nil && len(costs.Rows) == 1 && costs.Rows[0].Key == "one"
	})
	for _, by := range []string{"agent", "kind", "model", "session", "day"} {
		if costs, err := c.Costs(t.Context(), "1h", by); err != nil || costs.Total.Tokens != tokens || costs.Total.Dollars != dollars || costs.Total.Calls != 3 || len(costs.Rows) != 1 {
			t.Errorf("cost by %s: %+v, %v; want %d and %v", by, costs, err, tokens, dollars)
		}
	}
	var row api.AgentRow
	await(t, func() string { return fmt.Sprintf("ps: %+v, %v, %v", row, row.Tokens, row.Dollars) }, func() bool {
		row = w.agent("one")
		return row.Tokens != nil && *row.Tokens == tokens && row.Dollars != nil && *row.Dollars == dollars
	})
	var budgets api.Budgets
	used := func(name string) float64 {
		for _, b := range budgets.Rows {
			if b.Name == name && b.Used != nil {
				return *b.Used
			}
		}
		return -1
	}
	await(t, func() string { return fmt.Sprintf("budgets: %+v", budgets) }, func() bool {
		var err error
		budgets, err = c.Budgets(t.Context())
		return err == nil && used("each") == dollars && used("read") == float64(tokens)
	})
	left, err := c.SpendLeft(t.Context(), "one")
	if err != nil || left.Tokens == nil || *left.Tokens != tokens || left.Dollars == nil || *left.Dollars != dollars || len(left.Budgets) != 2 || *left.Budgets[0].Used != dollars {
		t.Errorf("left: %+v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "ask"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(filepath.Join(w.dir, "enough"), nil, 0o600)
	var text []byte
	await(t, func() string { return string(text) }, func() bool {
		text, _ = os.ReadFile(filepath.Join(w.dir, "answer"))
		return strings.Contains(string(text), `"id":2`) && strings.HasSuffix(string(text), "\n")
	})
	for line := range strings.Lines(string(text)) {
		var a struct {
			ID     int `json:"id"`
			Result struct{ Content []struct{ Text string } }
		}
		if json.Unmarshal([]byte(line), &a) != nil || a.ID != 2 {
			continue
		}
		if len(a.Result.Content) != 1 || a.Result.Content[0].Text != strings.Join(left.Says, "\n") {
			t.Errorf("cost_left said %s, want %q", line, left.Says)
		}
		return
	}
	t.Errorf("no answer of cost_left: %s", text)
}
