package daemon_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custos/internal/api"
)

// A live screen in a real terminal, on real agents: what it shows, a question answered, an
// agent stopped, a daemon that is killed and comes back, and a terminal that shrinks.
func TestTop(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a daemon that was killed")
	}
	s := newStudent(t)
	s.calm()
	s.up()
	s.must(`mkdir app; custos spawn asker --kind claude --dir app --prompt "fake dialog make" --wait 20s; custos spawn idler --kind claude --dir app --prompt hello --wait 20s`)
	s.must(`tmux -f /dev/null new-session -d -x 80 -y 24 "custos top; echo it ended with \$?; cat"`)
	s.shows("1 needs you", "> P2", "agent asker waits for a person", "AGENTS 2: 1 idle · 1 waiting", "Do you want to proceed?", "→ custos show asker")
	s.sameScreen("top")
	s.press("Down", "x")
	s.shows("asker: it asks for permission", "1 yes: Yes", "3 no: No")
	s.press("1", "Enter")
	s.shows(`Answered asker: answered "yes"`, "0 need you")
	s.press("2", "Home", "Down", "s")
	s.shows("Stop idler?", "y stops it")
	s.press("y")
	s.shows("Stopped idler")
	s.must(`tmux resize-window -x 20 -y 5`)
	s.shows("0 need you", "asker")
	s.must(`for i in 1 2 3 4 5 6 7 8 9 10; do tmux resize-window -x $((15 * i)) -y $((4 * i)); done`)
	s.shows("0 need you · custos on", "AGENTS 2:")
	s.must(`tmux resize-window -x 80 -y 24; kill -9 $(custos status --json | sed -n 's/ *"pid": \([0-9]*\),/\1/p')`)
	s.shows("! cannot reach the daemon", "! what is shown is", "old", "asker")
	s.up()
	s.shows("AGENTS 2:", "Enter go")
	await(s.T, s.screen, func() bool { return !strings.Contains(s.screen(), "!") })
	s.press("?")
	s.shows("KEYS")
	s.press("q", "q")
	s.shows("it ended with 0")
}

// calm has what is wrong with the machine itself, whose disk may be full, be no alert.
func (s *student) calm() {
	s.Helper()
	out, err := s.sh(s.Context(), "custos rules --json")
	var set api.Rules
	if err == nil {
		err = json.Unmarshal([]byte(out), &set)
	}
	text := ""
	for _, r := range set.Rules {
		if r.Over != "agent" {
			text += "[rule." + r.Name + "]\nenabled = false\n"
		}
	}
	dir := filepath.Join(s.home, ".config", "custos")
	if err := errors.Join(err, os.MkdirAll(dir, 0o700)); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "custos.toml"), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// must does what has to succeed.
func (s *student) must(script string) {
	s.Helper()
	if out, err := s.sh(s.Context(), script); err != nil {
		s.Fatalf("%s\n%v\n%s", script, err, out)
	}
}

// press presses keys in the terminal.
func (s *student) press(keys ...string) {
	s.Helper()
	for _, k := range keys {
		s.must("tmux send-keys " + k)
	}
}

// screen is what the terminal shows.
func (s *student) screen() string {
	out, _ := s.sh(s.Context(), "tmux capture-pane -p")
	return out
}

// shows waits until the terminal shows some texts.
func (s *student) shows(texts ...string) {
	s.Helper()
	for _, want := range texts {
		await(s.T, func() string { return want + " is not on\n" + s.screen() }, func() bool {
			return strings.Contains(strings.Join(strings.Fields(s.screen()), " "), want)
		})
	}
}

// sameScreen compares the screen with the one of testdata: its times and its folder are others.
func (s *student) sameScreen(name string) {
	s.Helper()
	host, _ := exec.Command("hostname").Output()
	text := strings.ReplaceAll(s.screen(), "on "+strings.TrimSpace(string(host))+" ", "on HOST ")
	text = regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(text, "HH:MM:SS")
	text = regexp.MustCompile(`  *\d+s `).ReplaceAllString(text, " TIME ")
	want, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		s.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		s.Errorf("%s\n%s", d, text)
	}
}
