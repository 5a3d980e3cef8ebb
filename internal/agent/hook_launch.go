package agent

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"
)

//go:embed hooks/opencode.js
var opencodePlugin string

// hookEvent is one event of a CLI that hooks are put on.
type hookEvent struct {
	name    string
	matcher bool // the CLI wants to be told that it is for every tool
}

// hookEvents are the events of a kind that Custos listens to.
func hookEvents(kind string) []hookEvent {
	switch kind {
	case "claude":
		return []hookEvent{{"SessionStart", false}, {"UserPromptSubmit", false}, {"PreToolUse", true}, {"PostToolUse", true},
			{"PostToolUseFailure", true}, {"PermissionRequest", true}, {"Notification", false}, {"Stop", false},
			{"StopFailure", false}, {"PreCompact", false}, {"SessionEnd", false}}
	case "codex":
		return []hookEvent{{"SessionStart", false}, {"UserPromptSubmit", false}, {"PreToolUse", false}, {"PostToolUse", false},
			{"PermissionRequest", false}, {"PreCompact", false}, {"Stop", false}, {"SessionEnd", false}}
	case "gemini":
		return []hookEvent{{"SessionStart", false}, {"BeforeAgent", false}, {"BeforeTool", true}, {"AfterTool", true},
			{"Notification", false}, {"AfterAgent", false}, {"SessionEnd", false}}
	}
	return nil
}

// HookKinds are the kinds whose hooks are known, sorted.
func HookKinds() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// hookFiles is the folder, below the run folder, of the files that hooks need.
func hookFiles(runDir string) string { return path.Join(runDir, "hooks") }

// LaunchHooks returns what makes an agent of a kind call hookBinary at its
// hooks, without touching a file of the user's: arguments to put right after the
// program's name, variables for its environment (KEY=VALUE), and files to write
// first (absolute path to contents; the same for every agent of the kind, mode
// 0600, in folders that no other user can write to). Both paths are absolute.
//
// The user's own hooks go on running beside ours: claude, codex and gemini add
// them up, opencode adds up plugins. HookLimits says what each kind cannot do.
// A kind without hooks is an error.
func LaunchHooks(kind, hookBinary, runDir string) (args, env []string, files map[string][]byte, err error) {
	file := path.Join(hookFiles(runDir), kind+".json")
	switch kind {
	case "claude":
		return []string{"--settings", file}, nil, map[string][]byte{file: hookSettings(kind, hookBinary, runDir)}, nil
	case "codex":
		return codexArgs(hookBinary, runDir), nil, nil, nil
	case "gemini":
		// The defaults of the system, not its settings: those may hold what an
		// administrator laid down, and overrule the user's.
		return nil, []string{"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=" + file}, map[string][]byte{file: hookSettings(kind, hookBinary, runDir)}, nil
	case "opencode":
		config, err := json.Marshal(map[string][]string{"plugin": {pluginURL(runDir, "")}})
		return nil, []string{"OPENCODE_CONFIG_CONTENT=" + string(config)}, map[string][]byte{pluginPath(runDir): pluginText(hookBinary, runDir)}, err
	}
	return nil, nil, nil, fmt.Errorf("cannot hook %s: it has no hooks that are known; those that have are %s", kind, strings.Join(HookKinds(), ", "))
}

// HookLimits says, in plain words, what the hooks of a kind do not report or do,
// as seen with claude 2.1.197, codex 0.169.0, gemini 0.61.0 and opencode 1.18.33.
func HookLimits(kind string) []string {
	switch kind {
	case "claude":
		return []string{
			"an interrupt by Esc, and the answer to a dialog, fire no hook",
			"a rate limit is reported when it ends the turn, not while Claude Code retries",
			"nothing is reported when it is killed",
			"context, cost and limits are reported to its status line only: ours runs the user's own, and one of the project's settings takes the place of ours where hooks were installed",
			"a --settings of the agent's own command line takes the place of ours",
		}
	case "codex":
		return []string{
			"a turn that ends by an error of the provider fires no hook: no rate limit, no lost login",
			"SessionStart comes with the first prompt, not at the start",
			"on launch, --dangerously-bypass-hook-trust also lets hooks of the project run that no person has reviewed",
			"installed hooks run only after a person has reviewed them at the next start; Codex stores that review",
			"its notify program is left to the user: it is also called for turns that are not shown",
		}
	case "gemini":
		return []string{
			"tool calls have no id: calls of one tool at the same time cannot be told apart",
			"no hook reports an error of the provider",
			"it skips our file when a folder above it can be written to by others: the run folder may not lie below /tmp",
			"on launch, GEMINI_CLI_SYSTEM_DEFAULTS_PATH takes the place of /etc/gemini-cli/system-defaults.json",
		}
	case "opencode":
		return []string{
			"with any plugin it waits for npm at the start: offline about 70 seconds on a blank screen, until npm gives up",
			"the end of the process fires nothing; session.deleted is reported when a person deletes a session",
			"on launch, OPENCODE_CONFIG_CONTENT takes the place of one in the environment",
		}
	}
	return nil
}

// shellWord quotes a word for a POSIX shell, which runs every hook.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hookCommand is the command of one event, for a shell.
func hookCommand(kind, event, hookBinary, runDir string) string {
	return strings.Join([]string{shellWord(hookBinary), kind, event, "--run", shellWord(runDir)}, " ")
}

// hookTimeout is how long a CLI may wait for our hook: custos-hook itself gives
// up after 150 ms. Gemini counts in milliseconds, the others in seconds; codex
// grants SessionEnd three at most.
func hookTimeout(kind string) int {
	if kind == "gemini" {
		return 2000
	}
	return 2
}

// hookGroup is the JSON of one event's hook.
func hookGroup(kind string, e hookEvent, command string) string {
	matcher := ""
	if e.matcher {
		matcher = `"matcher": "*", `
	}
	return fmt.Sprintf(`{%s"hooks": [{"type": "command", "command": %s, "timeout": %d}]}`, matcher, quoted(command), hookTimeout(kind))
}

// quoted is a JSON string; unlike strconv.Quote it never writes \x.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // strings always marshal
	}
	return string(b)
}

// hookSettings is a whole settings file with our hooks and nothing else.
func hookSettings(kind, hookBinary, runDir string) []byte {
	var lines []string
	for _, e := range hookEvents(kind) {
		lines = append(lines, fmt.Sprintf("    %q: [%s]", e.name, hookGroup(kind, e, hookCommand(kind, e.name, hookBinary, runDir))))
	}
	text := "{\n  \"hooks\": {\n" + strings.Join(lines, ",\n") + "\n  }"
	if keys := statusLinePath(kind); len(keys) == 1 {
		text += ",\n  " + quoted(keys[0]) + ": " + statusLineValue(statusLineCommand(kind, hookBinary, runDir, ""))
	}
	return []byte(text + "\n}\n")
}

// codexArgs puts the hooks on the command line, because Codex does not read them
// from a linked worktree.
func codexArgs(hookBinary, runDir string) []string {
	args := []string{"--dangerously-bypass-hook-trust"}
	for _, e := range hookEvents("codex") {
		command := tomlString(hookCommand("codex", e.name, hookBinary, runDir))
		args = append(args, "-c", fmt.Sprintf("hooks.%s=[{hooks=[{type=\"command\",command=%s,timeout=%d}]}]", e.name, command, hookTimeout("codex")))
	}
	return args
}

// tomlString quotes a TOML basic string. JSON's escapes are TOML's, too.
func tomlString(s string) string { return quoted(s) }

const pluginName = "custos-opencode.js"

func pluginPath(runDir string) string { return path.Join(hookFiles(runDir), pluginName) }

// pluginURL is the plugin's address; dots stand before the file's name, and
// change nothing.
func pluginURL(runDir, dots string) string {
	u := url.URL{Scheme: "file", Path: hookFiles(runDir)}
	return u.String() + "/" + dots + pluginName
}

func pluginText(hookBinary, runDir string) []byte {
	return []byte(strings.NewReplacer("__HOOK__", quoted(hookBinary), "__RUN__", quoted(runDir)).Replace(opencodePlugin))
}
