package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/policy"
	"custos/internal/policy/source"
)

// compiled writes the policy default for an agent that works in /w.
func compiled(t testing.TB) string {
	t.Helper()
	all, wrong, err := source.Policies(nil)
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	text, err := policy.Compiled{Agent: "bob", Instance: "i1", Policy: all["default"], Places: policy.Places{Worktree: "/w", Home: "/home/dev"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func payloadOf(t testing.TB, tool, command string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"tool_name": tool, "cwd": "/w", "tool_input": map[string]string{"command": command}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// answered runs the hook with a policy, and no daemon.
func answered(t testing.TB, file, kind, event, payload string) string {
	t.Helper()
	c := hook(t, kind, event, "--run", runDir(t))
	if file != "" {
		c.Env = append(c.Env, policyVar+"="+file)
	}
	c.Stdin = strings.NewReader(payload)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Denies hold with no daemon, in the words of each CLI; what cannot be asked is denied.
func TestVerdicts(t *testing.T) {
	file := compiled(t)
	for _, c := range []struct{ kind, event, tool, command, want string }{
		{"claude", "PreToolUse", "Bash", "ls; rm -rf ~", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Policy default, rule delete-root: `},
		{"claude", "PreToolUse", "Bash", "sudo ls", `"permissionDecision":"ask"`},
		{"claude", "PreToolUse", "Bash", "curl x | sh", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"Policy default, rule stdin-to-shell`},
		{"claude", "PreToolUse", "Bash", "go test ./...", ""},
		{"claude", "PostToolUse", "Bash", "rm -rf ~", ""},
		{"qwen", "PreToolUse", "run_shell_command", "rm -rf ~", `"permissionDecision":"deny"`},
		{"codex", "PreToolUse", "Bash", "rm -rf ~", `"permissionDecision":"deny"`},
		{"codex", "PreToolUse", "Bash", "sudo ls", `"permissionDecision":"deny"`},
		{"codex", "PreToolUse", "Bash", "curl x | sh", `{"systemMessage":"Policy default`},
		{"gemini", "BeforeTool", "run_shell_command", "rm -rf ~", `{"decision":"deny","reason":"Policy default, rule delete-root`},
		{"gemini", "BeforeTool", "run_shell_command", "sudo ls", `{"decision":"deny"`},
		{"opencode", "tool.execute.before", "bash", "rm -rf ~", `{"decision":"deny","reason":"Policy default, rule delete-root`},
		{"opencode", "tool.execute.before", "bash", "sudo ls", `{"decision":"deny"`},
		{"opencode", "tool.execute.after", "bash", "rm -rf ~", ""},
		{"pi", "tool_execution_start", "bash", "rm -rf ~", `{"decision":"deny","reason":"Policy default, rule delete-root`},
		{"pi", "tool_execution_start", "bash", "curl x | sh", `{"systemMessage":"Policy default`},
		{"cursor-agent", "beforeShellExecution", "Shell", "rm -rf ~", ""},
	} {
		got := answered(t, file, c.kind, c.event, payloadOf(t, c.tool, c.command))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "allow") {
			t.Errorf("%s %s %q: %s", c.kind, c.event, c.command, got)
		}
		if got := answered(t, "", c.kind, c.event, payloadOf(t, c.tool, c.command)); got != "" {
			t.Errorf("without a policy %s is told %s", c.kind, got)
		}
	}
}

// A policy that is torn, altered or gone denies, and says so; so does a call that cannot be read.
func TestWhatCannotBeJudgedIsDenied(t *testing.T) {
	file := compiled(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]string{"torn": string(text[:len(text)/2]), "altered": strings.Replace(string(text), `"deny"`, `"warn"`, 1), "more": string(text) + "{}", "empty": "", "format": strings.Replace(string(text), `"format":1`, `"format":9`, 1)} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := answered(t, file, "claude", "PreToolUse", payloadOf(t, "Bash", "ls")); !strings.Contains(got, `"deny"`) || !strings.Contains(got, "cannot read the policy") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := answered(t, file+".none", "claude", "PreToolUse", payloadOf(t, "Bash", "ls")); !strings.Contains(got, `"deny"`) {
		t.Errorf("none: %s", got)
	}
	if got := answered(t, compiled(t), "claude", "PreToolUse", `{"tool_name": "Ba`); !strings.Contains(got, `"deny"`) {
		t.Errorf("half a call: %s", got)
	}
	large := payloadOf(t, "Write", strings.Repeat("x", 3<<19))
	if got := answered(t, compiled(t), "claude", "PreToolUse", strings.Replace(large, `"command"`, `"file_path":"/w/x","content"`, 1)); got != "" {
		t.Errorf("a large file: %s", got)
	}
}

// BenchmarkHook is the whole process, with a daemon that answers: without a policy, and with one.
func BenchmarkHook(b *testing.B) {
	for name, file := range map[string]string{"plain": "", "policy": compiled(b)} {
		b.Run(name, func(b *testing.B) {
			run := runDir(b)
			daemon(b, run, "")
			payload := payloadOf(b, "Bash", "cd src && go build ./... 2>&1 | tee build.log && git commit -m 'a message'")
			best := time.Hour
			for b.Loop() {
				c := hook(b, "claude", "PreToolUse", "--run", run)
				if file != "" {
					c.Env = append(c.Env, policyVar+"="+file)
				}
				c.Stdin = strings.NewReader(payload)
				from := time.Now()
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(from))
			}
			b.ReportMetric(float64(best.Microseconds()), "best-µs")
		})
	}
}

// A call that was denied is told with the rule that denied it, whether a daemon hears it or not;
// what a person is asked, and a warning, keep no call from being made.
func TestADeniedCallIsTold(t *testing.T) {
	for _, c := range []struct{ kind, event, tool, command, want string }{
		{"claude", "PreToolUse", "Bash", "rm -rf ~", "delete-root"},
		{"claude", "PreToolUse", "Bash", "sudo ls", ""},
		{"codex", "PreToolUse", "Bash", "curl x | sh", ""},
		{"claude", "PreToolUse", "", "", policy.Unjudged},
	} {
		run := runDir(t)
		h := hook(t, c.kind, c.event, "--run", run)
		h.Env = append(h.Env, policyVar+"="+compiled(t))
		h.Stdin = strings.NewReader(payloadOf(t, c.tool, c.command))
		silent(t, h)
		if told := spooled(t, run); len(told) != 1 || told[0].Denied != c.want {
			t.Errorf("%s %q: %+v, want it denied by %q", c.kind, c.command, told, c.want)
		}
	}
	run := runDir(t)
	got := daemon(t, run, "")
	h := hook(t, "codex", "PreToolUse", "--run", run)
	h.Env = append(h.Env, policyVar+"="+compiled(t))
	h.Stdin = strings.NewReader(payloadOf(t, "Bash", "sudo ls"))
	silent(t, h)
	if p := <-got; p.Denied == "" {
		t.Errorf("what a CLI cannot ask about was denied, and %+v says nothing of it", p)
	}
}
