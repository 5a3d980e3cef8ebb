package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/agent/conversation"
)

// played runs what a plugin of ours is told by its CLI, and returns what it tells
// a hook in its place: a line for each event, its name and its payload.
func played(t *testing.T, kind, script string) []string {
	t.Helper()
	return playedBy(t, kind, "", script)
}

// playedBy is played with a hook that goes on so; the script runs in the folder of the file told.
func playedBy(t *testing.T, kind, hookGoesOn, script string) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here, and runs the plugins")
	}
	dir := t.TempDir()
	hook := filepath.Join(dir, "custos-hook")
	for name, text := range map[string]string{
		hook:                             "#!/bin/sh\necho \"$2 $(cat)\" >>" + dir + "/told\n" + hookGoesOn + "\n",
		filepath.Join(dir, "plugin.mjs"): string(pluginText(kindOf(t, kind), hook, dir)),
		filepath.Join(dir, "main.mjs"):   script,
	} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(node, filepath.Join(dir, "main.mjs"))
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	told, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(told)), "\n")
}

// TestPiExtensionTells what its own events say: a prompt as the model gets it, tools, an end
// by an error once it will not try again, and a limit at once.
func TestPiExtensionTells(t *testing.T) {
	told := played(t, "pi", `
import custos from "./plugin.mjs";
const on = {};
custos({ on: (name, f) => { on[name] = f; return () => {}; } });
const ctx = { sessionManager: { getSessionId: () => "s" } };
on.session_start({ reason: "startup" }, ctx);
on.message_start({ message: { role: "user", content: [{ type: "text", text: "go on" }] } }, ctx);
on.message_start({ message: { role: "assistant", content: [] } }, ctx);
on.tool_execution_start({ toolName: "bash", toolCallId: "c1", args: { command: "ls" } }, ctx);
on.tool_execution_end({ toolName: "bash", toolCallId: "c1", isError: true }, ctx);
on.agent_end({ messages: [{ role: "assistant", stopReason: "error", errorMessage: "429 Rate limit" }] }, ctx);
on.agent_end({ messages: [{ role: "assistant", stopReason: "error", errorMessage: "401 Unauthorized" }] }, ctx);
on.agent_settled({}, ctx);
on.agent_end({ messages: [{ role: "assistant", stopReason: "stop" }] }, ctx);
on.agent_settled({}, ctx);
await on.session_shutdown({ reason: "quit" }, ctx);
`)
	want := []string{
		"session-start  startup", "prompt  " + conversation.PromptHash("go on") + " go on", "tool-begin bash ", "tool-end bash failed",
		"failure  rate_limit", "failure  authentication", "failure  authentication", "stop  ", "session-end  quit",
	}
	var got []string
	for _, line := range told {
		name, payload, _ := strings.Cut(line, " ")
		e, err := hooked().ParseHook("pi", name, []byte(payload))
		if err != nil || e.Session != "s" {
			t.Errorf("%s: %+v %v", line, e, err)
		}
		got = append(got, string(e.Event)+" "+e.Tool+" "+e.Text)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOpencodePluginTellsWhatWasAnswered: an answer names a request only, and the
// call that it was about is told beside it.
func TestOpencodePluginTellsWhatWasAnswered(t *testing.T) {
	told := played(t, "opencode", `
import { Custos } from "./plugin.mjs";
const c = await Custos();
await c.event({ event: { type: "permission.asked", properties: { id: "per_1", sessionID: "s", permission: "bash", tool: { callID: "call_1" } } } });
await c.event({ event: { type: "question.asked", properties: { id: "que_1", sessionID: "s", tool: { callID: "call_2" } } } });
await c.event({ event: { type: "permission.replied", properties: { requestID: "per_1", sessionID: "s", reply: "once" } } });
await c.event({ event: { type: "question.rejected", properties: { requestID: "que_1", sessionID: "s" } } });
await c.event({ event: { type: "permission.replied", properties: { requestID: "per_0", sessionID: "s", reply: "once" } } });
`)
	want := []string{
		`permission.asked {"id":"per_1","sessionID":"s","permission":"bash","tool":{"callID":"call_1"}}`,
		`question.asked {"id":"que_1","sessionID":"s","tool":{"callID":"call_2"}}`,
		`permission.replied {"requestID":"per_1","sessionID":"s","reply":"once","tool":{"callID":"call_1"}}`,
		`question.rejected {"requestID":"que_1","sessionID":"s","tool":{"callID":"call_2"}}`,
		`permission.replied {"requestID":"per_0","sessionID":"s","reply":"once"}`,
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestPluginsThatAreLoadedTwiceTellOnce: by the launch and by the settings, of one process; and anew when the
// CLI loads its plugins anew.
func TestPluginsThatAreLoadedTwiceTellOnce(t *testing.T) {
	for kind, script := range map[string]string{
		"opencode": `
import { Custos } from "./plugin.mjs";
import { Custos as Other } from "./plugin.mjs?installed";
const event = { event: { type: "session.idle", properties: { sessionID: "s" } } };
for (const input of [{ directory: "/a" }, { directory: "/b" }]) {
  for (const c of [await Custos(input), await Other(input)]) await c.event?.(event);
}
`,
		"pi": `
import custos from "./plugin.mjs";
import other from "./plugin.mjs?installed";
const load = (f) => { const on = {}; f({ on: (name, g) => { on[name] = g; } }); on.session_start?.({ reason: "startup" }); };
load(custos);
load(other);
const now = Date.now;
Date.now = () => now() + 60_000;
load(custos);
load(other);
`,
	} {
		if told := played(t, kind, script); len(told) != 2 {
			t.Errorf("%s told\n%s", kind, strings.Join(told, "\n"))
		}
	}
}

// TestPluginsAskForAVerdict: where an agent has a policy, its plugin asks before a call is made, in the order of
// what it tells; a call that is denied is not made, and the model is told why; nor is one that nobody could judge.
func TestPluginsAskForAVerdict(t *testing.T) {
	scripts := map[string]string{"opencode": `
process.env.CUSTOS_POLICY = "/p";
const { appendFileSync } = await import("node:fs");
const { Custos } = await import("./plugin.mjs");
const c = await Custos({ directory: "/w" });
await c["chat.message"]({ sessionID: "s" }, { parts: [{ type: "text", text: "go" }] });
await c["tool.execute.before"]({ sessionID: "s", tool: "bash", callID: "c1" }, { args: { command: "touch x" } })
  .then(() => appendFileSync("told", "made\n"), (e) => appendFileSync("told", "not made: " + e.message + "\n"));
`, "pi": `
process.env.CUSTOS_POLICY = "/p";
const { appendFileSync } = await import("node:fs");
const { default: custos } = await import("./plugin.mjs");
const on = {};
custos({ on: (name, f) => { on[name] = f; } });
const ctx = { cwd: "/w", sessionManager: { getSessionId: () => "s" } };
on.message_start({ message: { role: "user", content: "go" } }, ctx);
if (on.tool_execution_start) appendFileSync("told", "it is told twice\n");
const said = await on.tool_call({ toolName: "bash", toolCallId: "c1", input: { command: "touch x" } }, ctx);
appendFileSync("told", said?.block ? "not made: " + said.reason + "\n" : "made\n");
`}
	call := map[string]string{
		"opencode": `tool.execute.before {"sessionID":"s","tool":"bash","callID":"c1","args":{"command":"touch x"},"tool_name":"bash","tool_input":{"command":"touch x"},"cwd":"/w"}`,
		"pi":       `tool_execution_start {"session_id":"s","tool_name":"bash","tool_use_id":"c1","tool_input":{"command":"touch x"},"cwd":"/w"}`,
	}
	const unjudged = "not made: Custos could not be asked about this call"
	for kind, script := range scripts {
		for what, c := range map[string]struct{ hook, want string }{
			"denied":       {`echo '{"decision":"deny","reason":"not for you"}'`, "not made: not for you"},
			"warned":       {`echo '{"systemMessage":"hm"}'`, "made"},
			"nothing":      {"", "made"},
			"no verdict":   {"echo hm", "made"},
			"half of one":  {`printf '{"decision":"de'`, unjudged},
			"a fault":      {"exit 3", unjudged},
			"it is killed": {"kill -9 $$", unjudged},
			"deny, unsaid": {`echo '{"decision":"deny"}'`, unjudged},
			"many words":   {`printf '{"decision":"deny","reason":"'; head -c 200000 /dev/zero | tr '\0' x; echo '"}'`, "not made: xxx"},
		} {
			told := playedBy(t, kind, "[ \"$2\" = prompt ] || [ \"$2\" = chat.message ] || { "+c.hook+"\n:; }", script)
			if len(told) != 3 || !strings.Contains(told[0], `"prompt":"go"`) || told[1] != call[kind] || !strings.HasPrefix(told[2], c.want) {
				t.Errorf("%s, %s: told\n%.600s\nwant %s", kind, what, strings.Join(told, "\n"), c.want)
			}
		}
	}
}
