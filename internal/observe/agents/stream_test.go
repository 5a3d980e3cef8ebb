package agents

import (
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

func claudeKind(t *testing.T) agent.Kind {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := kinds.Get("claude")
	if !ok || k.Headless.Stream == "" {
		t.Fatal("claude speaks no stream")
	}
	return k
}

// What an agent without a terminal and without hooks prints is read as its own
// protocol; a cut line, and what a tool printed between, say nothing.
func TestStreamTellsToolsAndCost(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	text := `cut off"}]}}
{"type":"assistant","session_id":"s1","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}
npm warn: rate limit reached
{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done","total_cost_usd":0.0125,"usage":{"input_tokens":1000,"output_tokens":50}}
`
	s := readStream(claudeKind(t), "a1", []byte(text), now.Wall.Add(-3*time.Second), now)
	var names []fleet.HookName
	for _, e := range s.events {
		if e.Instance != "a1" || now.Since(e.At) != 3*time.Second {
			t.Errorf("event %+v is of another instance or moment", e)
		}
		names = append(names, e.Event)
	}
	if len(names) != 2 || names[0] != fleet.HookToolBegin || names[1] != fleet.HookStop {
		t.Errorf("events %v; want the begin of the tool and the end of the turn", names)
	}
	if s.cost != fleet.Known[int64](12500) || s.tokens.Or(0) < 1050 {
		t.Errorf("cost %v, tokens %v; want 12500 millionths and 1050", s.cost, s.tokens)
	}
}

// What never told a cost has none, which is not the same as nothing.
func TestStreamWithoutResultHasNoCost(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	s := readStream(claudeKind(t), "a1", []byte("{\"type\":\"result\"\n{}\nplain\n"), now.Wall.Add(time.Hour), now)
	if s.cost.IsKnown() || s.tokens.IsKnown() || len(s.events) > 0 {
		t.Errorf("read %+v from nothing", s)
	}
}
