package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

func builtKinds(t *testing.T) *agent.Kinds {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func claude(t *testing.T) agent.Kind {
	t.Helper()
	k, _ := builtKinds(t).Get("claude")
	return k
}

// state is what the agent's screen and title say.
func state(t *testing.T, a *Agent) fleet.AgentState {
	t.Helper()
	return agent.State(agent.Signals{Kind: claude(t), Title: fleet.Known(a.Title(t)), Screen: fleet.Known(a.Screen(t))}).State
}

func waitState(t *testing.T, a *Agent, want fleet.AgentState) {
	t.Helper()
	a.Wait(t, "state "+string(want), func() bool { return state(t, a) == want })
}

func said(t *testing.T, a *Agent, text string) func() bool {
	return func() bool { return strings.Contains(a.Screen(t), text) }
}

// It looks like Claude Code in every state that was recorded of it.
func TestLooksLikeClaude(t *testing.T) {
	a := Start(t, Options{})
	waitState(t, a, fleet.StateIdle)
	if empty, ok := agent.ComposerEmpty(claude(t), a.Screen(t)).Get(); !ok || !empty {
		t.Errorf("its prompt is not read as empty:\n%s", a.Screen(t))
	}
	a.Do(t, "half fix the")
	a.Wait(t, "half a line", func() bool {
		empty, ok := agent.ComposerEmpty(claude(t), a.Screen(t)).Get()
		return ok && !empty
	})
	a.Keys(t, "C-u")
	a.Type(t, "fake work 30s")
	a.Keys(t, "Enter")
	waitState(t, a, fleet.StateWorking)
	a.Keys(t, "Escape")
	a.Wait(t, "the interruption", said(t, a, "Interrupted"))
	waitState(t, a, fleet.StateIdle)
	a.Do(t, "ratelimit 1h")
	waitState(t, a, fleet.StateRateLimited)
	a.Do(t, "auth")
	waitState(t, a, fleet.StateAuthLost)
	a.Do(t, "full")
	waitState(t, a, fleet.StateContextHigh)
	a.Do(t, "retry 30s")
	waitState(t, a, fleet.StateRateLimited)
	a.Keys(t, "Escape")
	waitState(t, a, fleet.StateIdle)
	a.Do(t, "print You've hit your rate limit, 429")
	a.Wait(t, "its words", said(t, a, "429"))
	waitState(t, a, fleet.StateIdle)
}

func TestDialogIsReadAndAnswered(t *testing.T) {
	a := Start(t, Options{})
	a.Do(t, "dialog rm -rf build")
	waitState(t, a, fleet.StateWaiting)
	d, ok := agent.ReadDialog(claude(t), a.Screen(t), a.Title(t))
	if !ok || d.ID != "permission" || d.Tool != "Bash command" || !strings.Contains(d.Args, "rm -rf build") || !d.Person {
		t.Fatalf("%v %+v\n%s", ok, d, a.Screen(t))
	}
	choice, err := agent.Pick(d, "yes")
	if err != nil {
		t.Fatal(err)
	}
	a.Keys(t, "x") // no answer
	a.Keys(t, choice.Keys...)
	a.Wait(t, "the tool", said(t, a, "tool-ran"))
	waitState(t, a, fleet.StateIdle)
	if got := a.Noted("answer"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("answers %q", got)
	}
	a.Do(t, "dialog rm -rf /")
	waitState(t, a, fleet.StateWaiting)
	other, _ := agent.ReadDialog(claude(t), a.Screen(t), a.Title(t))
	if other.Hash == d.Hash {
		t.Error("another command has the same hash")
	}
	a.Keys(t, "3")
	a.Wait(t, "the refusal", said(t, a, "Interrupted"))
}

func TestTrustDialogAndBoot(t *testing.T) {
	a := Start(t, Options{Fake: "boot 300ms; trust; altscreen"})
	waitState(t, a, fleet.StateDialog)
	if d, ok := agent.ReadDialog(claude(t), a.Screen(t), a.Title(t)); !ok || d.ID != "trust" {
		t.Errorf("%v %+v", ok, d)
	}
	a.Keys(t, "Enter")
	waitState(t, a, fleet.StateIdle)
}

// prompts of 60 lines arrive whole; the first Enter is lost when it is to be.
func TestPasteAndDroppedEnter(t *testing.T) {
	a := Start(t, Options{Fake: "dropenter"})
	waitState(t, a, fleet.StateIdle)
	text := strings.TrimSuffix(strings.Repeat("line ü\n", 60), "\n")
	file := filepath.Join(t.TempDir(), "paste")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a.tmux(t, "load-buffer", file)
	a.tmux(t, "paste-buffer", "-p", "-t", a.Pane)
	a.Wait(t, "the paste", said(t, a, "[Pasted text #1 +59 lines]"))
	a.Keys(t, "Enter")
	a.Wait(t, "the lost Enter", func() bool { return len(a.Noted("lost")) == 1 })
	if got := a.Noted("prompt"); len(got) != 0 {
		t.Fatalf("prompts %q before the second Enter", got)
	}
	a.Keys(t, "Enter")
	a.Wait(t, "the prompt", func() bool { return len(a.Noted("prompt")) == 1 })
	if got := a.Noted("prompt")[0]; got != text {
		t.Errorf("%d bytes arrived of %d", len(got), len(text))
	}
}

// settings makes every event append its JSON to a file.
func settings(t *testing.T, file string) string {
	t.Helper()
	hook := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "cat >> " + file + "; echo >> " + file}}}}
	hooks := map[string]any{}
	for _, e := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop", "StopFailure", "SessionEnd"} {
		hooks[e] = hook
	}
	b, err := json.Marshal(map[string]any{"hooks": hooks, "statusLine": map[string]any{"type": "command", "command": "cat >> " + file + "; echo >> " + file}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func events(t *testing.T, file string) (names []string, all []map[string]any) {
	b, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(string(b), "}\n") {
		return nil, nil // nothing, or half written
	}
	for line := range strings.Lines(string(b)) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		names, all = append(names, e["hook_event_name"].(string)), append(all, e)
	}
	return names, all
}

func TestHooks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events")
	a := Start(t, Options{Args: []string{"--settings", settings(t, file)}})
	expect := func(want ...string) []map[string]any {
		t.Helper()
		a.Wait(t, fmt.Sprint(want), func() bool { names, _ := events(t, file); return len(names) >= len(want) })
		names, all := events(t, file)
		if !slices.Equal(names, want) {
			t.Fatalf("events %q, want %q", names, want)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return all
	}
	expect("SessionStart")
	a.Type(t, "hello")
	a.Keys(t, "Enter")
	if e := expect("UserPromptSubmit", "Stop"); e[0]["prompt"] != "hello" {
		t.Errorf("prompt %v", e[0])
	}
	a.Do(t, "dialog ls; loop 2 ls")
	a.Wait(t, "the request", func() bool { names, _ := events(t, file); return slices.Contains(names, "PermissionRequest") })
	a.Keys(t, "1")
	e := expect("UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse", "Stop")
	if e[1]["tool_use_id"] != e[3]["tool_use_id"] || e[1]["tool_use_id"] == e[4]["tool_use_id"] || e[4]["tool_use_id"] == e[6]["tool_use_id"] {
		t.Error("calls are not paired by their IDs")
	}
	a.Do(t, "ratelimit")
	if e := expect("UserPromptSubmit", "StopFailure"); e[1]["error"] != "rate_limit" {
		t.Errorf("error %v", e[1]["error"])
	}
	a.Do(t, "context 85")
	if e := expect("Status"); e[0]["context_window"].(map[string]any)["used_percentage"] != 85.0 {
		t.Errorf("status %v", e[0])
	}
	a.Do(t, "clear")
	if e := expect("SessionEnd", "SessionStart"); e[0]["session_id"] == e[1]["session_id"] {
		t.Error("/clear keeps the conversation")
	}
	if err := syscall.Kill(a.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect("SessionEnd")
}

// The hooks of Custos's own command line are called, and understood.
func TestLaunchedWithHooks(t *testing.T) {
	dir := t.TempDir()
	heard := filepath.Join(dir, "heard")
	bin := filepath.Join(dir, "custos-hook")
	script := "#!/bin/sh\nread -r line\necho \"$2 $line\" >> " + heard + "\n"
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	args, env, files, err := builtKinds(t).LaunchHooks("claude", bin, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	launch, err := agent.Launch(claude(t), agent.LaunchOptions{Hooks: args})
	if err != nil {
		t.Fatal(err)
	}
	a := Start(t, Options{Args: launch.Argv[1:], Env: append(env, launch.Env...)})
	a.Do(t, "dialog ls; ratelimit")
	waitState(t, a, fleet.StateWaiting)
	a.Keys(t, "1")
	a.Wait(t, "the failure", func() bool { b, _ := os.ReadFile(heard); return strings.Contains(string(b), "rate_limit") })
	b, err := os.ReadFile(heard)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		event, payload, _ := strings.Cut(line, " ")
		h, err := builtKinds(t).ParseHook("claude", event, []byte(payload))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if h.Event == fleet.HookFailure {
			names = append(names, h.Text)
			continue
		}
		names = append(names, string(h.Event))
	}
	if want := "session-start prompt tool-begin permission tool-end rate_limit"; strings.Join(names, " ") != want {
		t.Errorf("heard %q, want %q", names, want)
	}
}

// It says in its registry file what it does, and goes on with a conversation
// after a kill.
func TestRegistryAndResume(t *testing.T) {
	a := Start(t, Options{})
	registry := func() agent.Registry {
		b, err := os.ReadFile(filepath.Join(a.Home, ".claude/sessions", strconv.Itoa(a.PID())+".json"))
		if err != nil {
			return agent.Registry{}
		}
		r, err := agent.ParseRegistry(b)
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		return r
	}
	a.Wait(t, "its registry file", func() bool { return registry().Status == "idle" })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.PID()))
	if err != nil || !strings.Contains(string(stat), " "+strconv.FormatUint(registry().ProcStart, 10)+" ") {
		t.Errorf("start %d is not in %s", registry().ProcStart, stat)
	}
	a.Type(t, "remember the number 7")
	a.Keys(t, "Enter")
	a.Wait(t, "its answer", said(t, a, "MOCK-REPLY"))
	a.Do(t, "dialog")
	a.Wait(t, "waiting in its registry file", func() bool { return registry().Status == "waiting" && registry().WaitingFor != "" })
	session := registry().SessionID
	a.Do(t, "kill")
	a.Wait(t, "its death", func() bool { return !a.Alive() })
	b := Start(t, Options{Home: a.Home, Dir: a.Dir, Args: []string{"--resume", session}})
	b.Wait(t, "the conversation", said(t, b, "remember the number 7"))
	c := Start(t, Options{Headless: true, Home: a.Home, Args: []string{"-p", "hi", "--resume", "11111111-2222-4333-8444-555555555555"}})
	if status := c.End(t); status != 1 || !strings.Contains(c.Output(t), "No conversation found with session ID") {
		t.Errorf("status %d, %s", status, c.Output(t))
	}
}

func TestEnds(t *testing.T) {
	for command, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill": -9} {
		a := Start(t, Options{Headless: true, Args: []string{"-p", "fake " + command}})
		if got := a.End(t); got != want {
			t.Errorf("%s ended with %d, want %d", command, got, want)
		}
	}
	a := Start(t, Options{})
	waitState(t, a, fleet.StateIdle)
	a.Keys(t, "C-c")
	a.Wait(t, "its warning", said(t, a, "Press Ctrl-C again"))
	a.Keys(t, "C-c")
	a.Wait(t, "its end", func() bool { return a.dead(t) })
}

// Everything that makes an agent hard to watch or to stop.
func TestHardCases(t *testing.T) {
	t.Run("shell", func(t *testing.T) {
		a := Start(t, Options{Shell: true})
		a.Do(t, "kill")
		a.Wait(t, "its death", func() bool { return !a.Alive() })
		if a.dead(t) {
			t.Error("the shell is gone too")
		}
	})
	t.Run("version as its name", func(t *testing.T) {
		a := Start(t, Options{Versions: true})
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", a.PID()))
		if err != nil || string(b) != "2.1.197\n" {
			t.Errorf("%q, %v", b, err)
		}
		a.Do(t, "comm 2.1.300")
		a.Wait(t, "its new name", func() bool {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", a.PID()))
			return string(b) == "2.1.300\n"
		})
	})
	t.Run("refuses TERM", func(t *testing.T) {
		a := Start(t, Options{Fake: "ignore TERM"})
		waitState(t, a, fleet.StateIdle)
		if err := syscall.Kill(a.PID(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		a.Type(t, "still there?")
		a.Keys(t, "Enter")
		a.Wait(t, "its answer", said(t, a, "MOCK-REPLY"))
	})
	t.Run("children that outlive it", func(t *testing.T) {
		a := Start(t, Options{Headless: true, Args: []string{"-p", "fake setsid 60s; fork2 60s; kill"}})
		a.End(t)
		children := a.Noted("child")
		if len(children) != 2 {
			t.Fatalf("children %q", children)
		}
		for _, c := range children {
			pid, _ := strconv.Atoi(c)
			if _, alive := procstat.Living(pid); !alive {
				t.Errorf("child %s is gone", c)
			}
		}
	})
	t.Run("busy and hung", func(t *testing.T) {
		a := Start(t, Options{})
		a.Do(t, "hang")
		a.Do(t, "exit 3")
		a.Wait(t, "its end", func() bool { return a.dead(t) })
	})
	t.Run("silent tool and memory", func(t *testing.T) {
		a := Start(t, Options{})
		a.Do(t, "memory 16; edit new.txt words; tool 30s make")
		waitState(t, a, fleet.StateWorking)
		a.Wait(t, "the tool", said(t, a, "Bash(make)"))
		before := a.Screen(t)
		if b, err := os.ReadFile(filepath.Join(a.Dir, "new.txt")); err != nil || string(b) != "words\n" {
			t.Errorf("%q, %v", b, err)
		}
		if after := a.Screen(t); after != before {
			t.Errorf("a silent tool writes:\n%s\n%s", before, after)
		}
	})
}

func TestHeadlessSpeaksTheStream(t *testing.T) {
	for prompt, want := range map[string]string{
		"hello":                       "session turn result:ok exit 0",
		"fake tool 1ms ls; reply yes": "session turn tool-begin tool-end result:ok exit 0",
		"fake ratelimit 1h":           "session turn rate-limit:limited result:rate_limit exit 1",
		"fake auth":                   "session turn result:authentication exit 1",
		"fake dialog rm -rf x":        "session turn tool-begin denied result:ok exit 0",
	} {
		launch, err := agent.Launch(claude(t), agent.LaunchOptions{Headless: true, Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		a := Start(t, Options{Headless: true, Args: append(launch.Argv[1:], "--", launch.Stdin)})
		status := a.End(t)
		var got []string
		for line := range strings.Lines(a.Output(t)) {
			events, err := conversation.ReadOutput("claude", []byte(line))
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			for _, e := range events {
				word := string(e.What)
				switch {
				case e.What == conversation.Result && e.OK:
					word += ":ok"
				case e.What == conversation.Result:
					word += ":" + e.Error
				case e.Limited:
					word += ":limited"
				}
				got = append(got, word)
			}
		}
		if all := fmt.Sprintf("%s exit %d", strings.Join(got, " "), status); all != want {
			t.Errorf("%q gave %q, want %q\n%s", prompt, all, want, a.Output(t))
		}
	}
}

// Without a home of its own it leaves nothing anywhere.
func TestTouchesNoForeignHome(t *testing.T) {
	home := t.TempDir()
	a := Start(t, Options{Headless: true, Home: home, Args: []string{"-p", "hello"}})
	if got := a.End(t); got != 0 {
		t.Errorf("ended with %d: %s", got, a.Output(t))
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestBuiltAtOnce: tests that run side by side, in one process, each get the program, though none was built before.
func TestBuiltAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := build(t); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
