package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// The lines are in the shapes the CLIs write (versions in kinds/*.toml).
func TestReadOutput(t *testing.T) {
	for _, c := range []struct{ language, line, want string }{
		{"claude", `{"type":"system","subtype":"init","cwd":"/x","session_id":"s1","tools":["Bash"],"model":"m"}`, "session s1; turn s1"},
		{"claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"session_id":"s1"}`, `tool-begin s1 Bash t1 {"command":"ls"}`},
		{"claude", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true}]},"session_id":"s1"}`, "tool-end s1 t1"},
		{"claude", `{"type":"user","message":{"content":"plain"},"session_id":"s1"}`, ""},
		{"claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795167000,"rateLimitType":"five_hour"},"session_id":"s1"}`, "rate-limit s1 (rejected) limited until 2026-11-20T09:30:00Z"},
		{"claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1795167000},"session_id":"s1"}`, "rate-limit s1 (allowed) until 2026-11-20T09:30:00Z"},
		{"claude", `{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s1","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"permission_denials":[]}`, "result s1 ok (done) $0.25 10+0+0+0/5(0)"},
		{"claude", `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: Request rejected (429)","session_id":"s1"}`, "result s1 (API Error: Request rejected (429)) rate_limit"},
		{"claude", `{"type":"result","subtype":"error_max_turns","is_error":false,"session_id":"s1","permission_denials":[{"tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"curl -H 'Authorization: Bearer abcdefghijkl'"}}]}`, `denied s1 Bash t2 {"command":"curl -H 'Authorization: Bearer ***'"}; result s1 limit`},
		{"claude", `{"type":"stream_event","session_id":"s1"}`, ""},
		{"codex", `{"type":"thread.started","thread_id":"th1"}`, "session th1"},
		{"codex", `{"type":"turn.started"}`, "turn"},
		{"codex", `{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"bash -lc ls","status":"in_progress"}}`, "tool-begin command_execution i1 bash -lc ls"},
		{"codex", `{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"bash -lc ls","exit_code":0,"status":"completed"}}`, "tool-end ok command_execution i1 bash -lc ls"},
		{"codex", `{"type":"item.completed","item":{"id":"i1","type":"command_execution","exit_code":2,"status":"failed"}}`, "tool-end command_execution i1"},
		{"codex", `{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"429 rate limit"}}`, ""},
		{"codex", `{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122}}`, "result ok 315+24448+0+0/122(0)"},
		{"codex", `{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`, "result (exceeded retry limit, last status: 429 Too Many Requests) rate_limit"},
		{"gemini", `{"type":"init","timestamp":"2026-11-20T09:00:00Z","session_id":"g1","model":"m"}`, "session g1; turn g1"},
		{"gemini", `{"type":"tool_use","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"ls"}}`, `tool-begin run_shell_command c1 {"command":"ls"}`},
		{"gemini", `{"type":"tool_result","tool_id":"c1","status":"success","output":"x"}`, "tool-end ok c1"},
		{"gemini", `{"type":"result","status":"success","stats":{"total_tokens":30,"input_tokens":20,"output_tokens":10}}`, "result ok 20+0+0+0/10(0)"},
		{"gemini", `{"type":"result","status":"error","error":{"type":"FatalAuthenticationError","message":"no key"}}`, "result (no key) authentication"},
		{"opencode", `{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"type":"step-start"}}`, "session ses_1; turn ses_1"},
		{"opencode", `{"type":"tool_use","sessionID":"ses_1","part":{"callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"}}}}`, `tool-end ses_1 ok bash c1 {"command":"ls"}`},
		{"opencode", `{"type":"step_finish","sessionID":"ses_1","part":{"id":"p1","reason":"tool-calls","cost":0}}`, "response ses_1 opencode:p1"},
		{"opencode", `{"type":"step_finish","sessionID":"ses_1","part":{"id":"p2","reason":"stop","cost":0.5,"tokens":{"input":7,"output":3}}}`, "response ses_1 $0.5 opencode:p2 7+0+0+0/3(0); result ses_1 ok"},
		{"opencode", `{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"slow down","statusCode":429}}}`, "result ses_1 (slow down) rate_limit"},
		{"claude", "", ""},
	} {
		got, err := ReadOutput(c.language, []byte(c.line))
		if words := eventsText(got); err != nil || words != c.want {
			t.Errorf("%s %s\ngot  %s (%v)\nwant %s", c.language, c.line, words, err, c.want)
		}
	}
}

func eventsText(events []Event) string {
	var all []string
	for _, e := range events {
		words := []string{string(e.What)}
		add := func(ok bool, w string) {
			if ok && w != "" {
				words = append(words, w)
			}
		}
		add(true, e.Session)
		add(e.OK, "ok")
		add(true, e.Tool)
		add(true, e.CallID)
		add(true, e.Args)
		add(e.Text != "", "("+e.Text+")")
		add(e.Limited, "limited")
		add(!e.Until.IsZero(), "until "+e.Until.Format(time.RFC3339))
		add(true, e.Error)
		add(e.Cost.IsKnown(), fmt.Sprintf("$%v", e.Cost.Or(0)))
		add(true, e.Key)
		add(true, e.Model)
		add(e.Side, "side")
		if n, ok := e.Tokens.Get(); ok {
			add(true, fmt.Sprintf("%d+%d+%d+%d/%d(%d)", n.Input, n.CacheRead, n.CacheWrite5m, n.CacheWrite1h, n.Output, n.Reasoning))
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "; ")
}

// What is no line of the language is an error, and never a sign of anything.
func TestForeignLines(t *testing.T) {
	for _, language := range []string{"claude", "codex", "gemini", "opencode", "pi", "qwen"} {
		for _, line := range []string{"npm warn deprecated", `{"type":`, `[]`, `{}`, `"result"`, `{"type":7}`, "Error: rate limit 429", strings.Repeat(" x", mostBytes)} {
			if e, err := ReadOutput(language, []byte(line)); err == nil || len(e) > 0 {
				t.Errorf("%s: %.40q gave %+v", language, line, e)
			}
		}
	}
	if _, err := ReadOutput("aider", []byte(`{"type":"result"}`)); err == nil || !strings.Contains(err.Error(), "aider") {
		t.Errorf("error %v", err)
	}
}

func TestEventsAreHooks(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: 5, Boot: "b"}
	for line, want := range map[string]string{
		`{"type":"system","subtype":"init","session_id":"s"}`:                                                                               "session-start/ prompt/",
		`{"type":"result","subtype":"success","session_id":"s"}`:                                                                            "stop/",
		`{"type":"result","subtype":"success","is_error":true,"api_error_status":401}`:                                                      "failure/authentication",
		`{"type":"result","subtype":"error_during_execution","is_error":true,"result":"odd"}`:                                               "stop/odd",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795167000}}`:                                         "failure/rate_limit until 30m0s",
		`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your limit · resets in 2 hours"}`: "failure/rate_limit until 2h0m0s",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1795167000}}`:                                  "",
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":null}]}}`:                              "tool-begin/",
	} {
		events, err := ReadOutput("claude", []byte(line))
		var got []string
		for _, e := range events {
			if h, ok := e.Hook("claude", at); ok {
				words := fmt.Sprintf("%s/%s", h.Event, h.Text)
				if !h.Until.IsZero() {
					words += fmt.Sprint(" until ", h.Until.Since(at))
				}
				got = append(got, words)
			}
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s gave %q (%v), want %q", line, got, err, want)
		}
	}
}

func FuzzReadOutput(f *testing.F) {
	f.Add(`{"type":"result","subtype":"success","total_cost_usd":-1,"usage":{"input_tokens":1e300}}`)
	f.Add(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e308}}`)
	f.Add(`{"type":"assistant","message":{"content":[{"type":"tool_use","input":"\u001b[31m"}]}}`)
	f.Add(`{"type":"item.completed","item":{"type":"command_execution","exit_code":1}}`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, language := range OutputLanguages() {
			events, _ := ReadOutput(language, []byte(line))
			for _, e := range events {
				if e.What == "" || strings.ContainsAny(e.Text+e.Tool+e.Args+e.Session, "\x1b\n") || len([]rune(e.Text)) > 200 {
					t.Errorf("%s: %+v", language, e)
				}
				e.Hook(language, fleet.Instant{})
			}
		}
	})
}
