package transcripts

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"

	"pgregory.net/rapid"
)

// rollout is a file of Codex as it is written, with what its responses used in truth.
type rollout struct {
	id    string
	named bool // 0.169.0 names each response; older versions tell sums alone
	lines [][]byte

	total fleet.Tokens
}

func (r *rollout) line(what, payload string) {
	at := time.Date(2026, 11, 20, 9, 0, len(r.lines), 0, time.UTC).Format(time.RFC3339Nano)
	r.lines = append(r.lines, fmt.Appendf(nil, `{"timestamp":"%s","type":"%s","payload":%s}`+"\n", at, what, payload))
}

// begins writes what each file begins with; a fork's goes on with the lines of another one, that one's
// beginning among them.
func (r *rollout) begins(of *rollout) {
	r.line("session_meta", `{"id":"`+r.id+`","cwd":"/p/`+r.id+`"}`)
	if of != nil {
		r.lines, r.total, r.named = append(r.lines, of.lines...), of.total, of.named
	}
	r.line("turn_context", `{"model":"m","cwd":"/p/`+r.id+`"}`)
}

func told(n fleet.Tokens) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`, n.Input+n.CacheRead, n.CacheRead, n.Output, n.Reasoning, n.All())
}

// answers writes one response, and repeats its sum.
func (r *rollout) answers(n int, used fleet.Tokens, again int) {
	r.total = r.total.Add(used)
	if r.named {
		r.line("token_usage_record", fmt.Sprintf(`{"thread_id":"%s","response_id":"resp_%d","usage":%s}`, r.id, n, told(used)))
	}
	for range 1 + again {
		r.line("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":%s,"last_token_usage":%s}}`, told(r.total), told(used)))
	}
	r.line("event_msg", `{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":5}}}`)
}

// Conversations of Codex that go on in their own files, and in files that begin with a copy of another one, are
// counted to the token, each response for the conversation that it was given in: by their names and, of older
// versions, by running sums.
func TestConversationsOfCodexThatGoOnAndThatAreForked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, l := newWorld(t), newLedger()
		w.home = t.TempDir()
		u, truth := w.usage(l), map[string]fleet.Tokens{}
		var all []*rollout
		written := map[*rollout]int{}
		for n := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			var r *rollout
			if k := rapid.IntRange(0, 2).Draw(rt, "what"); len(all) == 0 || k == 0 {
				r = &rollout{id: fmt.Sprint("s", len(all)), named: rapid.Bool().Draw(rt, "named")}
				var of *rollout
				if len(all) > 0 && rapid.Bool().Draw(rt, "forked") {
					of = rapid.SampledFrom(all).Draw(rt, "of")
				}
				r.begins(of)
				all = append(all, r)
			} else {
				r = rapid.SampledFrom(all).Draw(rt, "file")
			}
			// No two responses are alike, so that no two conversations have the same sum.
			used := fleet.Tokens{Input: 1 << n, CacheRead: rapid.Int64Range(0, 3).Draw(rt, "read") << 26, Output: 5, Reasoning: 2}
			r.answers(n, used, rapid.IntRange(0, 2).Draw(rt, "again"))
			truth[r.id] = truth[r.id].Add(used)
			w.put(".codex/sessions/2026/11/20/rollout-2026-11-20T09-00-00-"+r.id+".jsonl", bytes.Join(r.lines[written[r]:], nil))
			written[r] = len(r.lines)
			if rapid.Bool().Draw(rt, "anew") {
				u = w.usage(l)
			}
			w.counts(u)
		}
		got := map[string]fleet.Tokens{}
		for _, row := range l.rows {
			got[row.Session] = got[row.Session].Add(row.Tokens)
		}
		for _, r := range all {
			if got[r.id] != truth[r.id] {
				rt.Errorf("of %s %+v, want %+v", r.id, got[r.id], truth[r.id])
			}
		}
		if len(got) != len(truth) {
			rt.Errorf("%d conversations, want %d", len(got), len(truth))
		}
	})
}
