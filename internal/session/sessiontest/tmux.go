package sessiontest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tmux is a private tmux server: its own socket in a folder of the test, no
// configuration, killed when the test ends. It cannot reach any other server.
type Tmux struct {
	Dir    string // holds the socket
	Socket string
}

// NewTmux names a server, which starts with its first session. The test fails
// when tmux is not installed.
func NewTmux(t *testing.T) *Tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("this test needs tmux: run `make test`, which installs it, or `apt-get install tmux`")
	}
	dir, err := os.MkdirTemp("", "custos-tmux-") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Tmux{Dir: dir, Socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = s.command("kill-server").Run()
		os.RemoveAll(dir)
	})
	return s
}

// Run runs a tmux command on the server and returns what it printed.
func (s *Tmux) Run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// New starts a detached session of 120 by 40 that runs argv without a shell.
func (s *Tmux) New(t *testing.T, name string, argv ...string) {
	t.Helper()
	s.Run(t, append([]string{"new-session", "-d", "-s", name, "-x", "120", "-y", "40"}, argv...)...)
}

// Open is Stage's.
func (s *Tmux) Open(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(s.Dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.New(t, name, "sh", "-c", `cat "$1"; exec sleep 1000`, "sh", file)
}

// Close is Stage's.
func (s *Tmux) Close(t *testing.T, name string) {
	t.Helper()
	s.Run(t, "kill-session", "-t", "="+name)
}

func (s *Tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.Socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=screen"}
	return cmd
}
