package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// doAll does commands, until one interrupts.
func (t *turn) doAll(commands []string) {
	for _, c := range commands {
		if c = strings.TrimSpace(c); c != "" && !t.interrupted && t.failed == "" {
			t.do(c)
		}
	}
}

// do does one command of a turn. One that is not known is said, so that a test
// sees its mistake.
func (t *turn) do(command string) {
	word, rest, _ := strings.Cut(command, " ")
	switch word {
	case "hang":
		t.always(word, rest)
		select {}
	case "work":
		t.ok(t.wait(duration(rest, time.Second), false))
	case "reply":
		t.reply = rest
	case "print":
		t.say("● " + rest)
	case "tool":
		d, cmd, _ := strings.Cut(rest, " ")
		t.ok(t.tool(duration(d, time.Second), cmd))
	case "loop":
		n, cmd, _ := strings.Cut(rest, " ")
		for range number(n, 10) {
			t.ok(t.tool(0, cmd))
		}
	case "dialog":
		t.ask(rest)
	case "question":
		t.question(rest)
	case "busy":
		t.ok(t.burn(rest))
	case "ratelimit":
		t.fail("rate_limit", "You've hit your session limit · resets "+t.resets(rest))
	case "retry":
		t.retry(duration(rest, time.Second))
	case "auth":
		t.fail("authentication_failed", "Please run /login · API Error: 401 (mock)")
	case "full":
		t.fail("invalid_request", "Context limit reached · /compact or /clear to continue")
	default:
		if !t.always(word, rest) {
			t.say("● no such command: " + command)
		}
	}
}

// always does a command that can be done at any moment.
func (a *agent) always(word, rest string) bool {
	switch word {
	case "hang":
		a.mu.Lock()
		a.hung = true
		a.mu.Unlock()
	case "context":
		a.statusLine(float64(number(rest, 0)))
	case "half":
		a.mu.Lock()
		a.composer = rest
		a.mu.Unlock()
		a.show()
	case "edit":
		file, text, _ := strings.Cut(rest, " ")
		a.edit(file, text)
	case "script":
		a.runScript(rest)
	case "memory":
		a.takeMemory(number(rest, 64))
	case "comm":
		_ = os.WriteFile("/proc/self/comm", []byte(rest), 0)
	case "ignore":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	case "nohooks":
		a.noHooks = true
	case "mail":
		a.readsMail = true
	case "clear":
		a.clear()
	case "step":
		how, what, _ := strings.Cut(rest, " ")
		a.report(how, what)
	case "phase":
		is, reason, _ := strings.Cut(rest, " ")
		a.phase(is, reason)
	case "setsid", "fork2", "child":
		a.spawn(word, duration(rest, time.Minute))
	case "exit":
		a.end(number(rest, 0))
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	default:
		return false
	}
	return true
}

func duration(s string, other time.Duration) time.Duration {
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	return other
}

func number(s string, other int) int {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
		return n
	}
	return other
}

// tool runs a tool that prints nothing; false when it is interrupted.
func (a *agent) tool(d time.Duration, command string) bool {
	call := a.toolCall(command)
	a.hook("PreToolUse", call)
	a.say("● Bash(" + command + ")")
	if d > 0 && !a.wait(d, true) {
		return false
	}
	call["tool_response"] = map[string]any{"stdout": "", "interrupted": false}
	a.hook("PostToolUse", call)
	a.say("  ⎿  (no content)")
	return true
}

// runScript runs a script of the test's own as a tool of the agent's: its words are the path, and what it is given.
func (a *agent) runScript(command string) {
	call := a.toolCall("sh " + command)
	a.hook("PreToolUse", call)
	a.say("● Bash(sh " + command + ")")
	cmd := exec.Command("sh", strings.Fields(command)...)
	cmd.Dir = a.cwd
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = append(out, err.Error()...)
	}
	call["tool_response"] = map[string]any{"stdout": string(out), "interrupted": false}
	a.hook("PostToolUse", call)
	a.say("  ⎿  " + strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", " "))
}

func (a *agent) toolCall(command string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return map[string]any{"tool_name": "Bash", "tool_use_id": fmt.Sprintf("toolu_%d_%d", os.Getpid(), a.calls),
		"tool_input": map[string]any{"command": command, "description": "Create a proof file"}}
}

// ask asks for permission, and waits for the answer.
func (t *turn) ask(command string) {
	if command == "" {
		command = "touch proof && echo tool-ran"
	}
	call := t.toolCall(command)
	t.hook("PreToolUse", call)
	t.say("● Bash("+command+")", "  ⎿  Waiting…")
	answer := t.stand(call, "permission prompt", " Bash command", "   "+command, "   Create a proof file", " Do you want to proceed?",
		" ❯ 1. Yes", "   2. Yes, and always allow access to agents/ from this project", "   3. No", " Esc to cancel · Tab to amend · ctrl+e to explain")
	if answer == "3" || answer == "esc" {
		t.interrupted = true
		return
	}
	call["tool_response"] = map[string]any{"stdout": "tool-ran"}
	t.hook("PostToolUse", call)
	t.say("  ⎿  tool-ran")
}

func (t *turn) question(text string) {
	call := t.toolCall(text)
	call["tool_name"] = "AskUserQuestion"
	t.hook("PreToolUse", call)
	answer := t.stand(call, "question", " "+text, "❯ 1. This", "  2. That", "Enter to select · ↑/↓ to navigate · Esc to cancel")
	t.interrupted = answer == "esc"
	if !t.interrupted {
		t.hook("PostToolUse", call)
	}
}

// stand shows a dialog until it is answered: 1, 2, 3 or esc.
func (t *turn) stand(call map[string]any, what string, dialog ...string) string {
	t.mu.Lock()
	t.dialog = dialog
	t.mu.Unlock()
	t.set("waiting", what)
	t.hook("PermissionRequest", call)
	answer := <-t.answers
	t.note("answer", answer)
	t.mu.Lock()
	t.dialog = nil
	t.mu.Unlock()
	t.set("busy", "")
	return answer
}

// burn computes, and neither writes nor sleeps.
func (t *turn) burn(d string) bool {
	until := time.Now().Add(duration(d, 24*time.Hour))
	for n := 1; ; n++ {
		if n%(1<<20) != 0 {
			continue
		}
		select {
		case <-t.interrupt:
			return false
		default:
			if time.Now().After(until) {
				return true
			}
		}
	}
}

// fail ends the turn at an error of the API.
func (t *turn) fail(name, text string) {
	t.failed, t.silent = name, true
	t.say("  ⎿  "+text, "✻ Worked for 0s")
}

func (t *turn) resets(d string) string {
	return time.Now().Add(duration(d, time.Hour)).UTC().Format("3:04pm") + " (UTC)"
}

// retry shows the line of a request that is tried again; no hook tells of it.
func (t *turn) retry(d time.Duration) {
	t.mu.Lock()
	t.banner = fmt.Sprintf("✻ 429 Rate limited · Retrying in %ds · attempt 1/10", int(d.Seconds()))
	t.mu.Unlock()
	t.ok(t.wait(d, false))
	t.mu.Lock()
	t.banner = ""
	t.mu.Unlock()
}

// edit writes a file below its folder.
func (a *agent) edit(file, text string) {
	if !filepath.IsLocal(file) {
		a.say("● not below my folder: " + file)
		return
	}
	if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
		a.say("● " + err.Error())
	}
}

// takeMemory writes to every page, so that it is really taken.
func (a *agent) takeMemory(mib int) {
	b := make([]byte, mib<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	a.mu.Lock()
	a.ballast = append(a.ballast, b)
	a.mu.Unlock()
}

// spawn starts a process that sleeps.
func (a *agent) spawn(how string, d time.Duration) {
	sleep := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if how == "fork2" {
		pid, err := exec.Command("sh", "-c", "sleep "+sleep+" >/dev/null 2>&1 & echo $!").Output()
		a.note("child", strings.TrimSpace(string(pid)))
		if err != nil {
			a.say("● " + err.Error())
		}
		return
	}
	cmd := exec.Command("sleep", sleep)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: how == "setsid"}
	if err := cmd.Start(); err != nil {
		a.say("● " + err.Error())
		return
	}
	a.note("child", strconv.Itoa(cmd.Process.Pid))
	go func() { _ = cmd.Wait() }() // how a sleep ends says nothing
}

// watchControl does the lines of the control file as they come.
func (a *agent) watchControl() {
	if a.control == "" {
		return
	}
	done := 0
	for range time.Tick(20 * time.Millisecond) {
		b, err := os.ReadFile(a.control)
		if err != nil {
			continue
		}
		lines := strings.SplitAfter(string(b), "\n")
		for ; done < len(lines) && strings.HasSuffix(lines[done], "\n"); done++ {
			a.obey(strings.TrimSpace(lines[done]))
		}
	}
}

// obey does a line of the control file: one command that can be done at any
// moment at once, anything else as a turn of its own.
func (a *agent) obey(line string) {
	word, rest, _ := strings.Cut(line, " ")
	if line == "" || !strings.Contains(line, ";") && a.always(word, rest) {
		return
	}
	go a.queued("fake " + line)
}
