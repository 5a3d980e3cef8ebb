package tmux_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
)

// runner is a systemd-run that notes how it was called, and becomes what follows the --, in
// no scope: this machine may have no systemd. It refuses a call with the given words in it.
func runner(t *testing.T, refuses string) (before func(string) [][]string, calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$*" >>` + dir + `/calls
case "$*" in *'` + refuses + `'*) echo "Unknown assignment: OOMPolicy=continue" >&2; exit 1 ;; esac
while [ "$1" != -- ]; do shift; done; shift
exec "$@"
`
	program := filepath.Join(dir, "systemd-run")
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	before = func(name string) [][]string {
		return [][]string{{program, "--scope", "--unit=" + name, "--property=OOMPolicy=continue", "--"}, {program, "--scope", "--unit=" + name, "--"}}
	}
	return before, func() []string {
		b, _ := os.ReadFile(dir + "/calls") // none yet
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

func scopedProvider(t *testing.T, s *sessiontest.Tmux, o tmux.Scope) *tmux.Provider {
	t.Helper()
	p, err := tmux.NewProvider(tmux.ProviderOptions{Socket: s.Socket, Shim: sessiontest.BuildShim(t), Deadline: "3s", Start: "20s", Scope: o})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The server begins behind systemd-run, once, and has nothing of the environment that takes.
func TestTheServerBeginsInAScope(t *testing.T) {
	s := sessiontest.NewTmux(t)
	before, calls := runner(t, "nothing")
	var heard []string
	p := scopedProvider(t, s, tmux.Scope{Before: before, Env: []string{"PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=/run/user/7"}, Warn: func(text string) { heard = append(heard, text) }})
	g := sessiontest.Ground{Provider: p, Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	got := g.Launch(t, g.Plan(t, "one", "sleep", "1000"))
	g.Launch(t, g.Plan(t, "two", "sleep", "1000"))
	if c := calls(); len(c) != 1 || !strings.HasPrefix(c[0], "--scope --unit=custos-tmux-") || !strings.Contains(c[0], " -- /usr/bin/env -i PATH=") || !strings.HasSuffix(c[0], "start-server ; set-option -s exit-empty off") {
		t.Errorf("it was called as %q", c)
	}
	pid := s.Run(t, "display-message", "-p", "#{pid}")
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	if err != nil || strings.Contains(string(env), "XDG_RUNTIME_DIR") || strconv.Itoa(got.Pane.Server.PID) != pid {
		t.Errorf("server %s, of %v: %v, %q", pid, got.Pane.Server, err, env)
	}
	if len(heard) != 1 || !strings.Contains(heard[0], "in the same cgroup") {
		t.Errorf("a server that is in no scope, though it was begun so, is told of as %q", heard)
	}
}

// Scopes of older managers know no OOMPolicy; where none can be made at all, agents begin all
// the same, and it is said once.
func TestWithoutAScopeAgentsBeginAllTheSame(t *testing.T) {
	for refuses, want := range map[string]string{"OOMPolicy": "in the same cgroup", "--scope": "Unknown assignment"} {
		s := sessiontest.NewTmux(t)
		before, calls := runner(t, refuses)
		var heard []string
		p := scopedProvider(t, s, tmux.Scope{Before: before, Env: os.Environ(), Warn: func(text string) { heard = append(heard, text) }})
		g := sessiontest.Ground{Provider: p, Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
		for _, name := range []string{"one", "two"} {
			g.Launch(t, g.Plan(t, name, "sleep", "1000"))
			s.Run(t, "kill-server")
			sessiontest.Await(t, func() (string, bool) {
				c, err := net.Dial("unix", s.Socket)
				if err == nil {
					c.Close()
				}
				return "the server answers", err != nil
			})
		}
		if c := calls(); len(c) != 4 || strings.Contains(c[1], "OOMPolicy") {
			t.Errorf("%s: it was called as %q", refuses, c)
		}
		if len(heard) != 1 || !strings.Contains(heard[0], want) {
			t.Errorf("%s: heard %q", refuses, heard)
		}
	}
}

// A server that is there stays where it is.
func TestAServerThatIsThereIsLeft(t *testing.T) {
	s := sessiontest.NewTmux(t)
	s.New(t, "other", "sleep", "1000")
	before, calls := runner(t, "nothing")
	g := sessiontest.Ground{Provider: scopedProvider(t, s, tmux.Scope{Before: before, Env: os.Environ()}), Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	g.Launch(t, g.Plan(t, "one", "sleep", "1000"))
	if c := calls(); c[0] != "" {
		t.Errorf("it was called as %q", c)
	}
}
