package agent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// statusOf2_1_330 is what Claude Code 2.1.330 gives its status line, after an answer.
const statusOf2_1_330 = `{"session_id":"c6cfb17c","transcript_path":"/h/.claude/projects/-h-p/c6cfb17c.jsonl","cwd":"/h/p","effort":{"level":"medium"},"model":{"id":"claude-opus-5-5","display_name":"Opus 5.5"},
"workspace":{"current_dir":"/h/p","project_dir":"/h/p","added_dirs":[]},"version":"2.1.330","output_style":{"name":"default"},"cost":{"total_cost_usd":0.1234567,"total_duration_ms":781,"total_api_duration_ms":0,"total_lines_added":0,"total_lines_removed":0},
"context_window":{"total_input_tokens":40012,"total_output_tokens":31,"context_window_size":1000000,"current_usage":{"input_tokens":12,"output_tokens":31,"cache_creation_input_tokens":10000,"cache_read_input_tokens":30000},"used_percentage":4,"remaining_percentage":96},
"exceeds_200k_tokens":false,"fast_mode":false,"thinking":{"enabled":true}}`

// silent is a status line that was given nothing of it.
var silent = fleet.StatusReport{Used: fleet.Unknown[int64]("not told"), Window: fleet.Unknown[int64]("not told"), MicroUSD: fleet.Unknown[int64]("not told")}

// hooked are the kinds that are built in, read once.
var hooked = sync.OnceValue(func() *Kinds {
	k, err := Parse()
	if err != nil {
		panic(err)
	}
	return k
})

// hookKinds are those that have hooks.
func hookKinds() (names []string) {
	for _, k := range hooked().All() {
		if k.Hooks.has() {
			names = append(names, k.Name)
		}
	}
	return names
}

func hookMark(kind string) HooksMark {
	k, _ := hooked().Get(kind)
	return k.Hooks
}

// TestParseHook reads payloads as the CLIs gave them: claude 2.1.197, codex
// 0.169.0, gemini 0.61.0, opencode 1.18.33, shortened where nothing is read.
func TestParseHook(t *testing.T) {
	const base = `"session_id":"8eda28e5","transcript_path":"/h/t.jsonl","cwd":"/p","permission_mode":"default",`
	hi := conversation.PromptHash("say hi") + " say hi"
	for _, c := range []struct {
		kind, event, payload string
		want                 fleet.HookEvent
	}{
		{"claude", "SessionStart", `{` + base + `"hook_event_name":"SessionStart","source":"startup"}`,
			fleet.HookEvent{Event: fleet.HookSessionStart, Session: "8eda28e5", Text: "startup"}},
		{"claude", "UserPromptSubmit", `{` + base + `"prompt":"say hi"}`,
			fleet.HookEvent{Event: fleet.HookPrompt, Session: "8eda28e5", Text: hi}},
		{"claude", "PreToolUse", `{` + base + `"effort":{"level":"high"},"tool_name":"Bash","tool_input":{"command":"echo hi","description":"say hi"},"tool_use_id":"toolu_1"}`,
			fleet.HookEvent{Event: fleet.HookToolBegin, Session: "8eda28e5", Tool: "Bash", CallID: "toolu_1", Args: "command=echo hi #644dbe38"}},
		{"claude", "PostToolUse", `{` + base + `"tool_name":"Bash","tool_input":{"description":"say hi","command":"echo hi"},"tool_response":{"stdout":"hi"},"tool_use_id":"toolu_1","duration_ms":70}`,
			fleet.HookEvent{Event: fleet.HookToolEnd, Session: "8eda28e5", Tool: "Bash", CallID: "toolu_1", Args: "command=echo hi #644dbe38"}},
		{"claude", "PostToolUseFailure", `{` + base + `"tool_name":"Read","tool_input":{"file_path":"/x"},"tool_use_id":"t","error":"gone","is_interrupt":true}`,
			fleet.HookEvent{Event: fleet.HookToolEnd, Session: "8eda28e5", Tool: "Read", CallID: "t", Args: "file_path=/x #af4a8574", Text: "interrupted"}},
		{"claude", "PermissionRequest", `{` + base + `"tool_name":"Write","tool_input":{"file_path":"/x","content":"secret plans"}}`,
			fleet.HookEvent{Event: fleet.HookPermission, Session: "8eda28e5", Tool: "Write", Args: "file_path=/x #"}},
		{"claude", "PreToolUse", `{` + base + `"tool_name":"AskUserQuestion","tool_input":{"questions":[]},"tool_use_id":"q"}`,
			fleet.HookEvent{Event: fleet.HookQuestion, Session: "8eda28e5", Tool: "AskUserQuestion", CallID: "q", Args: "#"}},
		{"claude", "Notification", `{` + base + `"message":"Claude needs your permission","notification_type":"permission_prompt"}`,
			fleet.HookEvent{Event: fleet.HookPermission, Session: "8eda28e5", Text: "permission_prompt"}},
		{"claude", "Notification", `{` + base + `"notification_type":"idle_prompt"}`,
			fleet.HookEvent{Event: fleet.HookNotice, Session: "8eda28e5", Text: "idle_prompt"}},
		{"claude", "Stop", `{` + base + `"stop_hook_active":false,"last_assistant_message":"done"}`,
			fleet.HookEvent{Event: fleet.HookStop, Session: "8eda28e5"}},
		{"claude", "StopFailure", `{` + base + `"error":"rate_limit","last_assistant_message":"API Error: Request rejected (429)"}`,
			fleet.HookEvent{Event: fleet.HookFailure, Session: "8eda28e5", Text: "rate_limit"}},
		{"claude", "StopFailure", `{"error":"authentication_failed"}`, fleet.HookEvent{Event: fleet.HookFailure, Text: "authentication"}},
		{"claude", "StopFailure", `{"error":"billing_error"}`, fleet.HookEvent{Event: fleet.HookFailure, Text: "billing"}},
		{"claude", "StopFailure", `{"error":"invalid_request","error_details":"400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 250000 tokens > 200000 maximum\"},\"request_id\":\"req_mock0429\"}","last_assistant_message":"Prompt is too long · the request is ~250000 tokens (limit 200000)"}`,
			fleet.HookEvent{Event: fleet.HookFailure, Text: "context"}},
		{"claude", "StopFailure", `{"error":"invalid_request","last_assistant_message":"Prompt is too long"}`, fleet.HookEvent{Event: fleet.HookFailure, Text: "context"}},
		{"claude", "StopFailure", `{"error":"invalid_request","error_details":"400 messages.1: image exceeds 5 MB maximum (req_mock0429)"}`, fleet.HookEvent{Event: fleet.HookFailure, Text: "invalid_request"}},
		{"claude", "StopFailure", `{}`, fleet.HookEvent{Event: fleet.HookFailure, Text: "unknown"}},
		{"claude", "PreCompact", `{` + base + `"trigger":"auto"}`, fleet.HookEvent{Event: fleet.HookCompact, Session: "8eda28e5", Text: "auto"}},
		{"claude", "SubagentStop", `{` + base + `"agent_type":"Explore"}`, fleet.HookEvent{Event: fleet.HookNotice, Session: "8eda28e5", Text: "SubagentStop Explore"}},
		{"claude", "BrandNew", `{}`, fleet.HookEvent{Event: fleet.HookNotice, Text: "BrandNew"}},
		{"claude", "SessionEnd", `{` + base + `"reason":"other"}`, fleet.HookEvent{Event: fleet.HookSessionEnd, Session: "8eda28e5", Text: "other"}},
		{"claude", "", `{"hook_event_name":"Stop"}`, fleet.HookEvent{Event: fleet.HookStop}},
		{"claude", "Stop", ``, fleet.HookEvent{Event: fleet.HookStop}},
		{"claude", "Status", `{"session_id":"s","context_window":{"used_percentage":81.5},"rate_limits":{"five_hour":{"used_percentage":100,"resets_at":1795170000},"seven_day":{"used_percentage":20,"resets_at":1795900000}}}`,
			fleet.HookEvent{Event: fleet.HookStatus, Session: "s", Text: "rate_limit", Context: fleet.Known(81.5), Until: fleet.Instant{Wall: time.Unix(1795170000, 0).UTC()},
				Status: ofPlan(fleet.Quota{Window: "5h", Percent: 100, Resets: time.Unix(1795170000, 0).UTC()}, fleet.Quota{Window: "7d", Percent: 20, Resets: time.Unix(1795900000, 0).UTC()})}},
		{"claude", "Status", `{"rate_limits":{"five_hour":{"used_percentage":140},"seven_day":{"resets_at":1795900000},"spend_limit":{"used_percentage":-3}}}`,
			fleet.HookEvent{Event: fleet.HookStatus, Status: ofPlan(fleet.Quota{Window: "5h", Percent: 100})}},
		{"claude", "Status", `{"context_window":{"used_percentage":null},"rate_limits":{"five_hour":{"used_percentage":99,"resets_at":1795170000}}}`,
			fleet.HookEvent{Event: fleet.HookStatus, Status: ofPlan(fleet.Quota{Window: "5h", Percent: 99, Resets: time.Unix(1795170000, 0).UTC()})}},
		{"claude", "StatusLine", statusOf2_1_330, fleet.HookEvent{Event: fleet.HookStatus, Session: "c6cfb17c", Context: fleet.Known(4.0), Status: &fleet.StatusReport{
			Model: "claude-opus-5-5", Version: "2.1.330", Transcript: "/h/.claude/projects/-h-p/c6cfb17c.jsonl", Used: fleet.Known[int64](40012), Window: fleet.Known[int64](1000000), MicroUSD: fleet.Known[int64](123457)}}},

		{"codex", "PreToolUse", `{` + base + `"turn_id":"01","model":"gpt-5","tool_name":"Bash","tool_input":{"command":"echo hi"},"tool_use_id":"call_1"}`,
			fleet.HookEvent{Event: fleet.HookToolBegin, Session: "8eda28e5", Tool: "Bash", CallID: "call_1", Args: "command=echo hi #"}},
		{"codex", "PreToolUse", `{"tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a.go\n@@\n-password=1\n+x\n*** Add File: b.go\n*** End Patch"},"tool_use_id":"c"}`,
			fleet.HookEvent{Event: fleet.HookToolBegin, Tool: "apply_patch", CallID: "c", Args: "add=b.go update=a.go #"}},
		{"codex", "UserPromptSubmit", `{` + base + `"turn_id":"01","prompt":"say hi"}`, fleet.HookEvent{Event: fleet.HookPrompt, Session: "8eda28e5", Text: hi}},
		{"codex", "Stop", `{` + base + `"last_assistant_message":"done"}`, fleet.HookEvent{Event: fleet.HookStop, Session: "8eda28e5"}},
		{"codex", "notify", `{"type":"agent-turn-complete","thread-id":"01a1","turn-id":"2","cwd":"/p","input-messages":["say hi"]}`,
			fleet.HookEvent{Event: fleet.HookNotice, Session: "01a1", Text: "agent-turn-complete"}},

		{"qwen", "UserPromptSubmit", `{` + base + `"hook_event_name":"UserPromptSubmit","prompt":"say hi","submitted_prompt":"say hi"}`,
			fleet.HookEvent{Event: fleet.HookPrompt, Session: "8eda28e5", Text: hi}},
		// It says that a prompt was submitted for the result of a tool, too.
		{"qwen", "UserPromptSubmit", `{` + base + `"prompt":""}`, fleet.HookEvent{Event: fleet.HookNotice, Session: "8eda28e5", Text: "UserPromptSubmit"}},
		{"qwen", "Notification", `{` + base + `"message":"Qwen Code is waiting for your input","notification_type":"idle_prompt"}`,
			fleet.HookEvent{Event: fleet.HookRest, Session: "8eda28e5", Text: "idle_prompt"}},
		{"qwen", "PostToolUseFailure", `{` + base + `"tool_use_id":"call_1","tool_name":"run_shell_command","tool_input":{"command":"echo hi","description":"say hi"},"error":"no","is_interrupt":false}`,
			fleet.HookEvent{Event: fleet.HookToolEnd, Session: "8eda28e5", Tool: "run_shell_command", CallID: "call_1", Args: "command=echo hi #644dbe38", Text: "failed"}},

		{"gemini", "BeforeAgent", `{` + base + `"timestamp":"2026-11-20T10:09:11.044Z","prompt":"say hi"}`, fleet.HookEvent{Event: fleet.HookPrompt, Session: "8eda28e5", Text: hi}},
		{"gemini", "BeforeTool", `{` + base + `"tool_name":"run_shell_command","tool_input":{"command":"echo hi","description":"say hi"}}`,
			fleet.HookEvent{Event: fleet.HookToolBegin, Session: "8eda28e5", Tool: "run_shell_command", Args: "command=echo hi #644dbe38"}},
		{"gemini", "AfterTool", `{` + base + `"tool_name":"run_shell_command","tool_input":{"command":"echo hi","description":"say hi"},"tool_response":{"llmContent":"Output: hi","returnDisplay":"hi"}}`,
			fleet.HookEvent{Event: fleet.HookToolEnd, Session: "8eda28e5", Tool: "run_shell_command", Args: "command=echo hi #644dbe38"}},
		{"gemini", "AfterAgent", `{` + base + `"prompt":"say hi","prompt_response":"done"}`, fleet.HookEvent{Event: fleet.HookStop, Session: "8eda28e5"}},
		{"gemini", "Notification", `{` + base + `"notification_type":"ToolPermission","message":"m","details":{"type":"exec","command":"rm x"}}`,
			fleet.HookEvent{Event: fleet.HookPermission, Session: "8eda28e5", Text: "ToolPermission exec"}},
		{"gemini", "PreCompress", `{` + base + `"trigger":"auto"}`, fleet.HookEvent{Event: fleet.HookNotice, Session: "8eda28e5", Text: "auto"}},
		{"gemini", "SessionEnd", `{` + base + `"reason":"exit"}`, fleet.HookEvent{Event: fleet.HookSessionEnd, Session: "8eda28e5", Text: "exit"}},

		{"opencode", "session.created", `{"sessionID":"ses_e0","info":{"id":"ses_e0","title":"New session"}}`, fleet.HookEvent{Event: fleet.HookSessionStart, Session: "ses_e0"}},
		{"opencode", "chat.message", `{"sessionID":"ses_e0","prompt":"say hi"}`, fleet.HookEvent{Event: fleet.HookPrompt, Session: "ses_e0", Text: hi}},
		{"opencode", "tool.execute.before", `{"tool":"bash","sessionID":"ses_e0","callID":"call_1","args":{"command":"echo hi","description":"say hi"}}`,
			fleet.HookEvent{Event: fleet.HookToolBegin, Session: "ses_e0", Tool: "bash", CallID: "call_1", Args: "command=echo hi #644dbe38"}},
		{"opencode", "tool.execute.after", `{"tool":"bash","sessionID":"ses_e0","callID":"call_1","args":{"command":"echo hi","description":"say hi"}}`,
			fleet.HookEvent{Event: fleet.HookToolEnd, Session: "ses_e0", Tool: "bash", CallID: "call_1", Args: "command=echo hi #644dbe38"}},
		{"opencode", "permission.asked", `{"id":"per_1","sessionID":"ses_e0","permission":"bash","patterns":["rm *"],"tool":{"messageID":"m","callID":"call_1"}}`,
			fleet.HookEvent{Event: fleet.HookPermission, Session: "ses_e0", Tool: "bash", CallID: "call_1"}},
		{"opencode", "permission.replied", `{"sessionID":"ses_e0","requestID":"per_1","reply":"once","tool":{"messageID":"m","callID":"call_1"}}`,
			fleet.HookEvent{Event: fleet.HookAnswered, Session: "ses_e0", CallID: "call_1", Text: "once"}},
		{"opencode", "question.replied", `{"sessionID":"ses_e0","requestID":"que_1","answers":[["A"]],"tool":{"callID":"call_2"}}`,
			fleet.HookEvent{Event: fleet.HookAnswered, Session: "ses_e0", CallID: "call_2", Text: "question.replied"}},
		{"opencode", "question.rejected", `{"sessionID":"ses_e0","requestID":"que_1"}`,
			fleet.HookEvent{Event: fleet.HookAnswered, Session: "ses_e0", Text: "question.rejected"}},
		{"opencode", "session.idle", `{"sessionID":"ses_e0"}`, fleet.HookEvent{Event: fleet.HookStop, Session: "ses_e0"}},
		{"opencode", "session.status", `{"sessionID":"ses_e0","status":{"type":"retry","attempt":1,"message":"Too Many Requests","next":1795170000000}}`,
			fleet.HookEvent{Event: fleet.HookFailure, Session: "ses_e0", Text: "rate_limit", Until: fleet.Instant{Wall: time.Unix(1795170000, 0).UTC()}}},
		{"opencode", "session.status", `{"sessionID":"ses_e0","status":{"type":"retry","attempt":1,"message":"socket hang up"}}`,
			fleet.HookEvent{Event: fleet.HookNotice, Session: "ses_e0", Text: "retry"}},
		{"opencode", "session.error", `{"sessionID":"ses_e0","error":{"name":"APIError","data":{"message":"Unauthorized","statusCode":401}}}`,
			fleet.HookEvent{Event: fleet.HookFailure, Session: "ses_e0", Text: "authentication"}},
		{"opencode", "session.error", `{"sessionID":"ses_e0","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}`,
			fleet.HookEvent{Event: fleet.HookStop, Session: "ses_e0", Text: "interrupted"}},
	} {
		got, err := hooked().ParseHook(c.kind, c.event, []byte(c.payload))
		if err != nil {
			t.Errorf("%s %s: %v", c.kind, c.event, err)
			continue
		}
		if head, ok := strings.CutSuffix(c.want.Args, "#"); ok && strings.HasPrefix(got.Args, head+"#") {
			c.want.Args = got.Args // any hash
		}
		c.want.Kind = c.kind
		if !c.want.Context.IsKnown() {
			c.want.Context = got.Context
			if got.Context.IsKnown() {
				t.Errorf("%s %s: context %v was never told", c.kind, c.event, got.Context)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s\n got %+v\nwant %+v", c.kind, c.event, got, c.want)
		}
	}
}

// TestParseHookKeepsNoSecrets: contents, secrets and escapes stay out, and cut-off
// payloads are read as far as they go.
func TestParseHookKeepsNoSecrets(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for _, c := range []struct{ event, payload, not, has string }{
		{"PreToolUse", `{"tool_name":"Write","tool_input":{"file_path":"/x","content":"hunter2"}}`, "hunter2", "file_path=/x"},
		{"PreToolUse", `{"tool_name":"mcp__bank__pay","tool_input":{"to":"hunter2"}}`, "hunter2", "#"},
		{"PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"curl -H 'Authorization: Bearer hunter2hunter2' x"}}`, "hunter2", "***"},
		{"UserPromptSubmit", `{"prompt":"the password=hunter2 is"}`, "hunter2", "***"},
		{"UserPromptSubmit", `{"prompt":"\u001b[31mred\u001b]0;x\u0007\u202e"}`, "\x1b", "red"},
		{"PreToolUse", `{"session_id":"s","tool_name":"Write","tool_input":{"content":"` + long, "é", ""},
		{"PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"` + long + `"}}`, long[:600], "command="},
	} {
		e, err := hooked().ParseHook("claude", c.event, []byte(c.payload))
		all := e.Args + "|" + e.Text
		if err != nil || strings.Contains(all, c.not) || !strings.Contains(all, c.has) {
			t.Errorf("%s: %v %q", c.payload[:40], err, all)
		}
		if utf8.RuneCountInString(e.Args) > 200 {
			t.Errorf("%d runes of arguments were kept", utf8.RuneCountInString(e.Args))
		}
	}
	e, err := hooked().ParseHook("claude", "PreToolUse", []byte(`{"session_id":"s","tool_name":"Bash","tool_in`))
	if err != nil || e.Session != "s" || e.Tool != "Bash" || e.Event != fleet.HookToolBegin {
		t.Errorf("cut off: %+v %v", e, err)
	}
	for _, bad := range []struct{ kind, payload string }{{"amp", "{}"}, {"claude", "hello"}, {"claude", `["x"]`}, {"claude", `"{}"`}} {
		if e, err := hooked().ParseHook(bad.kind, "Stop", []byte(bad.payload)); err == nil || e.Kind != "" {
			t.Errorf("%s %s was taken: %+v", bad.kind, bad.payload, e)
		}
	}
}

// Claude Code 2.1.330 gives its model, and its hooks, a paste of five lines and more in a
// frame of its own.
func TestPromptHashKnowsAPastedPrompt(t *testing.T) {
	text := "line 1\nline 2\nline 3\nline 4\nline 5"
	framed := "\n\n<pasted_content id=\"1782\">\n" + text + "\n</pasted_content id=\"1782\">\n"
	if conversation.PromptHash(framed) != conversation.PromptHash(text) {
		t.Error("what was pasted is not known again")
	}
	payload, err := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "prompt": framed})
	if err != nil {
		t.Fatal(err)
	}
	e, err := hooked().ParseHook("claude", "UserPromptSubmit", payload)
	if err != nil || e.Text != conversation.PromptHash(text)+" line 1 line 2 line 3 line 4 line 5" {
		t.Errorf("%q, %v", e.Text, err)
	}
}

func TestPromptHashKnowsATypedPrompt(t *testing.T) {
	if conversation.PromptHash("fix\tthe  bug\r\nnow ") != conversation.PromptHash("fix the bug now") || conversation.PromptHash("a") == conversation.PromptHash("b") {
		t.Error("a prompt is not known again, or taken for another")
	}
}

// TestSameCallSameArgs is what looking for loops rests on.
func TestSameCallSameArgs(t *testing.T) {
	args := func(in string) string { return conversation.Args("mcp__x", json.RawMessage(in)) }
	if args(`{"a":1,"b":"x"}`) != args(`{ "b": "x", "a": 1 }`) || args(`{"a":1}`) == args(`{"a":2}`) {
		t.Error("the same call is not known again, or taken for another")
	}
}

// TestLaunchHooks has what runs the hooks read them: a shell, and a JSON reader.
func TestLaunchHooks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a $(touch x) `dir`")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(dir, "custos-hook")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, kind := range hookKinds() {
		args, env, files, err := hooked().LaunchHooks(kind, hook, dir, "")
		if err != nil || len(args)+len(env) == 0 {
			t.Errorf("%s: %v", kind, err)
		}
		for name, text := range files {
			if !strings.HasPrefix(name, dir+"/hooks/") {
				t.Errorf("%s: file at %s", kind, name)
			}
			if hookMark(kind).Plugin != "" {
				if strings.Contains(string(text), "__") {
					t.Errorf("the plugin was not filled in")
				}
				continue
			}
			var s struct {
				Hooks map[string][]struct {
					Hooks []struct{ Command string }
				}
			}
			if err := json.Unmarshal(text, &s); err != nil || len(s.Hooks) != len(hookMark(kind).asked()) {
				t.Fatalf("%s: %v %s", kind, err, text)
			}
			for event, groups := range s.Hooks {
				out, err := exec.Command("/bin/sh", "-c", groups[0].Hooks[0].Command).Output()
				if want := kind + "|" + event + "|--run|" + dir + "|"; err != nil || string(out) != want {
					t.Errorf("%s %s: the shell gave %q (%v), want %q", kind, event, out, err, want)
				}
			}
		}
	}
	if _, _, _, err := hooked().LaunchHooks("amp", hook, dir, ""); err == nil {
		t.Error("hooks of a kind without any")
	}
}

// TestHooksOfANewKindAreDataAlone: they are launched with, installed and read.
func TestHooksOfANewKindAreDataAlone(t *testing.T) {
	set, err := Parse(Source{"custos.toml", []byte(`
[kind.mine]
names = ["mine"]
[kind.mine.hooks]
settings = ".mine/settings.json"
timeout = 3
args = ["--settings={file}"]
fields = { session = "about.session" }
also = '"tips": false'
[[kind.mine.hooks.event]]
name = "Prompted"
means = "prompt"
fields = { prompt = "about.text" }
[[kind.mine.hooks.event]]
name = "Heard"
means = "stop"
unasked = true
`)})
	if err != nil {
		t.Fatal(err)
	}
	args, _, files, err := set.LaunchHooks("mine", "/x/custos-hook", "/run", "")
	const want = `{
  "hooks": {
    "Prompted": [{"hooks": [{"type": "command", "command": "/x/custos-hook mine Prompted --run /run", "timeout": 3}]}]
  },
  "tips": false
}
`
	if got := string(files["/run/hooks/mine.json"]); err != nil || len(args) != 1 || args[0] != "--settings=/run/hooks/mine.json" || got != want {
		t.Errorf("launched with %v and\n%s%v", args, got, err)
	}
	with, err := set.InstallHooks("mine", []byte(`{"a": 1}`), "/x/custos-hook", "/run")
	if s, e := set.HookStatus("mine", with); err != nil || e != nil || len(s.Events) != 1 || len(s.Missing) != 0 {
		t.Errorf("installed %+v: %v %v", s, err, e)
	}
	e, err := set.ParseHook("mine", "Prompted", []byte(`{"about":{"session":"s","text":"go on"}}`))
	if err != nil || e.Event != fleet.HookPrompt || e.Session != "s" || e.Text != conversation.PromptHash("go on")+" go on" {
		t.Errorf("read as %+v: %v", e, err)
	}
}

// TestWrongHooksAreRefused, in words.
func TestWrongHooksAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[[kind.claude.hooks.event]]` + "\nname = \"X\"\nmeans = \"nod\"": `means "nod" is no event`,
		`[[kind.claude.hooks.event]]` + "\nmeans = \"stop\"":              "an event needs a name",
		"[kind.claude.hooks]\nplugin = \"mine.js\"":                       `there is no plugin "mine.js"`,
		"[kind.claude.hooks]\nplugin = \"opencode.js\"":                   "plugin needs plugin_list",
		"[kind.claude.hooks]\nalso = \"x\"":                               "also is not members of a JSON object",
		"[kind.claude.hooks]\nenv = [\"X\"]":                              "want NAME=VALUE",
	} {
		if _, err := Parse(Source{"custos.toml", []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
}

// TestHookEventsAreRead: what is listened to is understood.
func TestHookEventsAreRead(t *testing.T) {
	for _, kind := range hookKinds() {
		for _, w := range hookMark(kind).asked() {
			e, err := hooked().ParseHook(kind, w.Name, []byte(`{"tool_name":"Bash","trigger":"manual","prompt":"x"}`))
			if err != nil || e.Event == fleet.HookNotice && w.Means != HookMeans(fleet.HookNotice) && w.Means != meansTrouble {
				t.Errorf("%s %s is listened to, and read as %q (%v)", kind, w.Name, e.Event, err)
			}
		}
		if len(hooked().HookLimits(kind)) == 0 || hooked().HookSettings(kind) == "" {
			t.Errorf("%s: no limits or no settings file are known", kind)
		}
	}
}

func FuzzParseHook(f *testing.F) {
	f.Add(uint8(0), "PreToolUse", []byte(`{"tool_name":"Bash","tool_input":{"command":["a"]},"tool_use_id":1}`))
	f.Add(uint8(1), "notify", []byte(`{"type":"x","thread-id":null}`))
	f.Add(uint8(2), "Notification", []byte(`{"details":[],"notification_type":{}}`))
	f.Add(uint8(3), "session.status", []byte(`{"status":{"type":"retry","message":"429","next":1e300}}`))
	f.Add(uint8(0), "Status", []byte(`{"context_window":{"used_percentage":1e9},"rate_limits":{"five_hour":{"used_percentage":100,"resets_at":-5}}}`))
	f.Fuzz(func(t *testing.T, k uint8, event string, payload []byte) {
		e, err := hooked().ParseHook(hookKinds()[int(k)%len(hookKinds())], event, payload)
		if err != nil {
			return
		}
		for _, s := range []string{e.Args, e.Text, e.Tool, e.CallID, e.Session} {
			if len(s) > 4*220 || fleet.Text(s) != s || !utf8.ValidString(s) {
				t.Fatalf("unsafe text %q", s)
			}
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back fleet.HookEvent
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	})
}

// Gemini hands its hook the files that a prompt names with @, below what was typed (0.61.0).
func TestGeminiPromptIsWhatWasTyped(t *testing.T) {
	payload := `{"session_id":"s","hook_event_name":"BeforeAgent","prompt":"look at the file @README.md\n--- Content from referenced files ---\nContent from @README.md:\nhi\n--- End of content ---"}`
	e, err := hooked().ParseHook("gemini", "BeforeAgent", []byte(payload))
	if want := conversation.PromptHash("look at the file @README.md "); err != nil || !strings.HasPrefix(e.Text, want+" look at the file @README.md") || strings.Contains(e.Text, "hi") {
		t.Errorf("%q, %v, want it to begin with %s", e.Text, err, want)
	}
}

// ofPlan is what a status line reports that tells of nothing but a plan.
func ofPlan(all ...fleet.Quota) *fleet.StatusReport {
	r := silent
	r.Quota = all
	return &r
}
