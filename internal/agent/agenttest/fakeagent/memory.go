package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"custos/internal/sys/procstat"
)

// record is one line of a conversation, or of the log.
type record struct {
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	Session string    `json:"session"`
	Run     string    `json:"run,omitempty"`
	What    string    `json:"what"` // prompt, reply, answer, lost, child, read, reported, refused, phase
	Text    string    `json:"text"`
}

func (a *agent) file(session string) string {
	return filepath.Join(a.home, ".fakeagent/sessions", session+".jsonl")
}

// recall goes on with the conversation that was asked for. One that is not there
// is refused in the words of the original.
func (a *agent) recall() error {
	id := a.resume
	if a.cont && id == "" {
		id = a.newest()
	}
	if id == "" {
		return nil
	}
	b, err := os.ReadFile(a.file(id))
	if a.home == "" || err != nil || strings.ContainsAny(id, "/\\") {
		return fmt.Errorf("No conversation found with session ID: %s", id)
	}
	a.id = id
	for line := range strings.Lines(string(b)) {
		var r record
		if json.Unmarshal([]byte(line), &r) != nil {
			continue // a line that a kill cut short
		}
		mark := map[string]string{"prompt": "❯ ", "reply": "● "}[r.What]
		a.lines = append(a.lines, mark+r.Text)
	}
	return nil
}

// newest is the conversation that was last written to.
func (a *agent) newest() string {
	files, _ := filepath.Glob(a.file("*"))
	best, at := "", time.Time{}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.ModTime().After(at) {
			best, at = strings.TrimSuffix(filepath.Base(f), ".jsonl"), st.ModTime()
		}
	}
	return best
}

// note writes something into the log, and prompts into the conversation.
func (a *agent) note(what, text string) {
	a.appendTo(filepath.Join(a.home, ".fakeagent/log.jsonl"), what, text)
	if what == "prompt" {
		a.remember(what, text)
	}
}

func (a *agent) remember(what, text string) { a.appendTo(a.file(a.id), what, text) }

func (a *agent) appendTo(file, what, text string) {
	if a.home == "" {
		return
	}
	line, err := json.Marshal(record{time.Now().UTC(), os.Getpid(), a.id, os.Getenv("CUSTOS_RUN_ID"), what, text})
	if err != nil {
		return
	}
	_ = os.MkdirAll(filepath.Dir(file), 0o755)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

// clear begins a new conversation, as /clear does.
func (a *agent) clear() {
	a.hook("SessionEnd", map[string]any{"reason": "clear"})
	a.mu.Lock()
	a.id, a.lines, a.banner = newID(), nil, ""
	a.mu.Unlock()
	a.hook("SessionStart", map[string]any{"source": "clear"})
	a.register()
	a.show()
}

// register writes the record that Claude Code keeps of each process, whole or
// not at all.
func (a *agent) register() {
	if a.home == "" {
		return
	}
	a.mu.Lock()
	entry := map[string]any{"pid": os.Getpid(), "procStart": procStart(), "status": a.status, "sessionId": a.id, "cwd": a.cwd,
		"statusUpdatedAt": time.Now().UnixMilli(), "startedAt": a.started.UnixMilli(), "kind": "interactive", "version": "2.1.197"}
	if a.waiting != "" && a.status == "waiting" {
		entry["waitingFor"] = a.waiting
	}
	a.mu.Unlock()
	b, err := json.Marshal(entry)
	if err != nil {
		return
	}
	file := a.registryFile()
	_ = os.MkdirAll(filepath.Dir(file), 0o755)
	temp := file + ".tmp"
	if os.WriteFile(temp, b, 0o600) == nil {
		_ = os.Rename(temp, file)
	}
}

func (a *agent) unregister() {
	if a.home != "" {
		_ = os.Remove(a.registryFile())
	}
}

func (a *agent) registryFile() string {
	return filepath.Join(a.home, ".claude/sessions", strconv.Itoa(os.Getpid())+".json")
}

// procStart is when this process was started, as the original writes it: a text.
func procStart() string {
	s, _ := procstat.Living(os.Getpid())
	return strconv.FormatUint(s.Start, 10)
}

// hook runs every hook of an event, one after the other, with its JSON on
// standard input, as the original does: through a shell, in its own folder.
func (a *agent) hook(event string, more map[string]any) {
	if a.noHooks {
		return
	}
	payload := map[string]any{"session_id": a.id, "transcript_path": filepath.Join(a.home, ".claude/projects/x", a.id+".jsonl"),
		"cwd": a.cwd, "permission_mode": "default", "hook_event_name": event}
	for k, v := range more {
		payload[k] = v
	}
	for _, s := range a.settings {
		for _, group := range s.Hooks[event] {
			for _, h := range group.Hooks {
				if h.Type == "command" {
					a.context(pipe(h.Command, payload))
				}
			}
		}
	}
}

// statusLine gives the status line what the original gives it.
func (a *agent) statusLine(percent float64) {
	for _, s := range a.settings {
		if s.StatusLine.Command != "" {
			pipe(s.StatusLine.Command, map[string]any{"session_id": a.id, "cwd": a.cwd, "version": "2.1.197", "hook_event_name": "Status",
				"model":          map[string]any{"id": "mock", "display_name": "Mock"},
				"cost":           map[string]any{"total_cost_usd": 0.01},
				"context_window": map[string]any{"used_percentage": percent, "context_window_size": 200000}})
		}
	}
}

// pipe runs one command of a settings file, and returns what it prints; how it
// fails is its own business.
func pipe(command string, payload any) []byte {
	b, err := json.Marshal(payload)
	if err != nil {
		return nil
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdin = strings.NewReader(string(b))
	out, _ := cmd.Output()
	return out
}
