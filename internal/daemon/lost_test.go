package daemon_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/api"
)

// losses are the ways in which a database is lost, with what it has beside it.
var losses = map[string]func(path string) error{
	"deleted":     os.Remove,
	"emptied":     func(path string) error { return os.Truncate(path, 0) },
	"cut short":   func(path string) error { return os.Truncate(path, 5000) },
	"overwritten": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("no database "), 4000), 0o600) },
}

// lose ends the daemon and loses its database; the agents live on.
func (w *town) lose(how func(path string) error) {
	w.Helper()
	w.kill()
	path := filepath.Join(w.cfg.StateDir, "custos.db")
	for _, beside := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + beside)
	}
	if err := how(path); err != nil {
		w.Fatal(err)
	}
}

// tells has a command say something, and not say other things, and end with a code.
func (w *town) tells(code int, says, not []string, args ...string) string {
	w.Helper()
	out, got := w.says(args...)
	flat := strings.ReplaceAll(strings.Join(strings.Fields(out), " "), " --config "+filepath.Join(w.dir, "custos.toml"), "")
	if got != code {
		w.Errorf("custos %s ended with %d, want %d: %s", strings.Join(args, " "), got, code, out)
	}
	for _, s := range says {
		if !strings.Contains(flat, s) {
			w.Errorf("custos %s does not say %q: %s", strings.Join(args, " "), s, out)
		}
	}
	for _, s := range not {
		if strings.Contains(flat, s) {
			w.Errorf("custos %s says %q: %s", strings.Join(args, " "), s, out)
		}
	}
	return out
}

// TestTheFirstLookAtALostPast: whatever way the database was lost in, each command says
// what is true then: agents live, whose they are is not known, and nothing else that was
// written down is. Each can be stopped, and one that is adopted is told of as before.
func TestTheFirstLookAtALostPast(t *testing.T) {
	for name, how := range losses {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, "")
			w.spawn("builder", "reply hello", false)
			w.spawn("night", "reply hello; work 1h", true)
			w.awaitState("builder", "idle")
			w.lose(how)
			unknown := []string{"Whose it is is not known", "A shim of Custos has started it", "What was written down before is lost: ", "custos adopt builder"}
			w.tells(0, unknown, []string{"It is not ours", "foreign"}, "why", "builder")
			w.tells(0, []string{"owner unknown", "custos adopt builder"}, []string{"foreign"}, "show", "builder")
			w.tells(0, []string{"custos adopt builder", "custos adopt night"}, []string{"foreign", "builder~"}, "ps")
			w.tells(0, []string{"alerts not known: ", "last patrol not known: "}, []string{"none", "no patrol yet"}, "status")
			w.tells(0, []string{`"subtype":"init"`}, nil, "logs", "night")
			w.tells(2, []string{"there is no agent nobody"}, []string{"no order could be given"}, "stop", "nobody")
			w.tells(0, []string{"Stopped without an order: night: "}, []string{"no order could be given", "there is no agent"}, "stop", "night")
			w.acknowledgesTheLoss("builder")
			if out, code := w.says("adopt", "builder"); code != 0 {
				t.Fatalf("adopt ended with %d: %s", code, out)
			}
			w.tells(0, []string{"adopted"}, []string{"unknown", "NEXT"}, "ps")
			w.tells(0, []string{"Stopped builder", "its place is closed"}, nil, "stop", "builder")
			if left := w.sessions(); strings.Contains(left, "builder") {
				t.Errorf("it has left %s", left)
			}
		})
	}
}

// acknowledgesTheLoss takes up the alert of the lost past, and is offered to have an
// agent cared for again.
func (w *town) acknowledgesTheLoss(agent string) {
	w.Helper()
	w.says("patrol")
	out, _ := w.says("alerts", "--json")
	var found api.Alerts
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	for _, a := range found.Alerts {
		if a.Rule == "self-amnesia" {
			w.tells(0, []string{"custos adopt " + agent}, nil, "ack", strconv.FormatInt(a.Number, 10))
			return
		}
	}
	w.Fatalf("nothing tells of a lost past: %s", out)
}

// sessions lists those of the private tmux server.
func (w *town) sessions() string {
	out, _ := exec.Command("tmux", "-S", filepath.Join(w.cfg.RuntimeDir, "tmux.sock"), "list-sessions", "-F", "#{session_name}").CombinedOutput()
	return string(out)
}

// TestALostPastIsToldOnce: what cannot be answered without the past is refused with its
// cause, once, and with who finds out more.
func TestALostPastIsToldOnce(t *testing.T) {
	w := foundTown(t, "")
	if err := os.MkdirAll(w.cfg.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := losses["overwritten"](filepath.Join(w.cfg.StateDir, "custos.db")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"feed"}, {"failures"}, {"orders"}, {"mail", "inbox"}, {"alerts"}} {
		out := w.tells(3, []string{"try: custos doctor"}, nil, args...)
		if n := strings.Count(out, "cannot open database"); n != 1 {
			t.Errorf("custos %s says it %d times: %s", strings.Join(args, " "), n, out)
		}
	}
	w.tells(1, []string{"is damaged: the next patrol sets it aside"}, nil, "doctor", "databases")
}

// TestAStopClosesWhatACrashLeft: the session of an agent that has crashed is dead, doctor
// names what starts the agent again, and a stop instead of that closes its place.
func TestAStopClosesWhatACrashLeft(t *testing.T) {
	w := newTown(t, "")
	w.tells(0, nil, nil, "spawn", "one", "--kind", "claude", "--dir", filepath.Join(w.dir, "work"), "--prompt", "fake reply hello", "--restart", "never")
	if err := syscall.Kill(w.awaitState("one", "idle").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.awaitState("one", "crashed")
	await(t, w.said.String, func() bool { out, _ := w.says("doctor", "sessions"); return strings.Contains(out, "is dead") })
	w.tells(0, []string{"recover one"}, nil, "doctor", "sessions")
	w.tells(0, []string{"Stopped one: its place is closed"}, nil, "stop", "one")
	if left := w.sessions(); strings.Contains(left, "one~") {
		t.Errorf("it has left %s", left)
	}
}
