package conversation

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// rowsOf are what the responses of a recording used, by their keys.
func rowsOf(t *testing.T, name string) map[string]fleet.Tokens {
	t.Helper()
	language, _, _ := strings.Cut(name, "-")
	tr, rows := NewTranscript(language, language, "/x", true), map[string]fleet.Tokens{}
	for _, e := range entriesOf(t, language, "testdata/transcripts/"+name+".jsonl") {
		if u, ok := tr.Take(e); ok && u.Tokens.All() >= rows[u.Key].All() {
			rows[u.Key] = u.Tokens
		}
	}
	return rows
}

// The rows of recordings, held against what the mock model said that it answered: response
// n of claude's reads 3+n, 2000+n from the cache and 1500 into it, and writes 50+n.
func TestRowsAreTheModelsOwnAccount(t *testing.T) {
	for name, responses := range map[string]int{"claude-2.1.330-headless": 3, "claude-2.1.330-forked": 6, "claude-2.1.330-subagent": 3,
		"claude-2.1.197-headless": 3, "claude-2.1.197-forked": 5, "codex-0.169.0-headless": 3} {
		rows := rowsOf(t, name)
		if len(rows) != responses {
			t.Errorf("%s: %d rows, want %d: %v", name, len(rows), responses, rows)
		}
		for key, got := range rows {
			var n int64
			if _, err := fmt.Sscanf(strings.TrimLeft(key[len(key)-4:], "0"), "%d", &n); err != nil {
				t.Fatalf("%s: key %s: %v", name, key, err)
			}
			want := fleet.Tokens{Input: 3 + n, CacheRead: 2000 + n, CacheWrite5m: 1000, CacheWrite1h: 500, Output: 50 + n}
			if strings.HasPrefix(name, "codex") {
				want = fleet.Tokens{Input: 1000 + n, CacheRead: 2000, Output: 100 + n, Reasoning: 40}
			}
			if got != want {
				t.Errorf("%s %s: %+v, want %+v", name, key, got, want)
			}
		}
	}
}

// An older Codex tells of tokens by a running sum alone: each response counts once, however
// often the sum is repeated, and under the name of its conversation.
func TestSumsCountWhereNothingElseDoes(t *testing.T) {
	tr, rows := NewTranscript("codex", "codex", "/x", true), map[string]int64{}
	for _, line := range []string{
		`{"timestamp":"2026-11-20T09:00:00Z","type":"session_meta","payload":{"id":"s1","cwd":"/p"}}`,
		`{"timestamp":"2026-11-20T09:00:00Z","type":"turn_context","payload":{"model":"m"}}`,
		`{"timestamp":"2026-11-20T09:00:01Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":110},"last_token_usage":{"input_tokens":100,"output_tokens":10,"total_tokens":110}}}}`,
		`{"timestamp":"2026-11-20T09:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":110},"last_token_usage":{"input_tokens":100,"output_tokens":10,"total_tokens":110}}}}`,
		`{"timestamp":"2026-11-20T09:00:03Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":310},"last_token_usage":{"input_tokens":190,"output_tokens":10,"total_tokens":200}}}}`,
	} {
		entries, err := Read("codex", []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if u, ok := tr.Take(e); ok {
				if u.Session != "s1" || u.Model != "m" || u.CWD != "/p" || u.Source != fleet.UsageTranscript {
					t.Errorf("%+v", u)
				}
				rows[u.Key] = u.Tokens.All()
			}
		}
	}
	if len(rows) != 2 || rows["codex:s1:110"] != 110 || rows["codex:s1:310"] != 200 {
		t.Errorf("%v", rows)
	}
}

// Conversations of an older Codex go on for more tokens than one response can have.
func TestASumOfMoreThanOneResponseCanHave(t *testing.T) {
	entries, err := Read("codex", []byte(`{"timestamp":"2026-11-20T09:00:03Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":3000000310},"last_token_usage":{"input_tokens":190,"output_tokens":10,"total_tokens":200}}}}`))
	if err != nil || len(entries) != 1 || entries[0].Key != "total:3000000310" || entries[0].Tokens != (fleet.Tokens{Input: 190, Output: 10}) {
		t.Errorf("%+v, %v", entries, err)
	}
}

// A rollout of Codex that begins with a copy of another one is the conversation, and in the folder, of its own first
// line; what was copied counts under the name that it has in the other.
func TestAForkIsOfItsFirstLine(t *testing.T) {
	tr, rows := NewTranscript("codex", "codex", "/x", true), map[string]string{}
	for _, line := range []string{
		`{"timestamp":"2026-11-20T09:00:00Z","type":"session_meta","payload":{"id":"fork","cwd":"/own"}}`,
		`{"timestamp":"2026-11-20T09:00:00Z","type":"session_meta","payload":{"id":"old","cwd":"/p","source":{"subagent":"review"}}}`,
		`{"timestamp":"2026-11-20T09:00:01Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":110},"last_token_usage":{"input_tokens":100,"output_tokens":10,"total_tokens":110}}}}`,
		`{"timestamp":"2026-11-20T09:00:01Z","type":"token_usage_record","payload":{"thread_id":"old","response_id":"r","usage":{"input_tokens":100,"output_tokens":10,"total_tokens":110}}}`,
	} {
		entries, err := Read("codex", []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if u, ok := tr.Take(e); ok {
				rows[u.Key] = u.Session
			}
		}
	}
	if c := tr.Conversation(); c.Session != "fork" || c.CWD != "/own" || tr.Side() {
		t.Errorf("%+v, of a sub-agent %v", c, tr.Side())
	}
	if len(rows) != 2 || rows["codex:old:110"] != "fork" || rows["codex:r"] != "old" {
		t.Errorf("%v", rows)
	}
}

// A file of which only the end was read has at least one turn.
func TestATranscriptThatIsReadFromItsMiddle(t *testing.T) {
	for whole, want := range map[bool]int{true: 0, false: 1} {
		if got := NewTranscript("claude", "claude", "/x", whole).Conversation().Turns; got != want {
			t.Errorf("whole %v: %d turns", whole, got)
		}
	}
}
