// Package agenttest gives tests a scripted agent: it builds the fake agent CLI
// of internal/agent/agenttest/fakeagent, starts it in a tmux server of the test's own or
// without a terminal, tells it what to do, and reads what it left. Everything
// lies in folders of the test and ends with it; the user's tmux, home and
// processes are never touched.
package agenttest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/sys/procstat"
)

// Deadline is for how long Wait waits: long, because machines that run tests are
// busy; nothing that works comes near it.
const Deadline = 20 * time.Second

// Build returns the path of the fake agent, a program called claude. It is built
// when its sources have changed, once for all test binaries.
func Build(t testing.TB) string {
	t.Helper()
	bin, err := build(t)
	if err != nil {
		t.Fatalf("cannot build the fake agent: %v", err)
	}
	return bin
}

func build(t testing.TB) (bin string, err error) {
	_, here, _, _ := runtime.Caller(0)
	src := filepath.Join(filepath.Dir(here), "fakeagent")
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("custos-fakeagent-%d-%s", os.Getuid(), digest(t, src)))
	bin = filepath.Join(dir, "claude")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(dir, "build") // others may build it, too: in this process, and in one of the same PID elsewhere
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	cmd := exec.Command("go", "build", "-trimpath", "-o", temp+"/claude", ".")
	cmd.Dir, cmd.Env = src, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, os.Rename(temp+"/claude", bin)
}

// digest names the sources, so that an old build is never used.
func digest(t testing.TB, src string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(src, "*.go"))
	if len(files) == 0 {
		t.Fatalf("cannot build the fake agent: no sources in %s", src)
	}
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d %s %s\n", filepath.Base(f), len(b), runtime.Version(), b)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Home returns a home folder in which the fake agent keeps what it does.
func Home(t testing.TB) string {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".fakeagent"), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// Options say how the fake agent is started. Their zero value is an agent in
// tmux that is ready at once.
type Options struct {
	Args     []string // as of Claude Code: --resume ID, --settings FILE, a prompt, …
	Fake     string   // commands for the start, separated by semicolons
	Home     string   // default: Home(t)
	Dir      string   // default: a folder of the test
	Env      []string // NAME=VALUE
	Headless bool     // no terminal; give -p and a prompt in Args
	Shell    bool     // in an interactive sh, which is left when it ends
	Versions bool     // run from …/claude/versions/2.1.197, as the native program is
	Width    int      // default 120
	Height   int      // default 40
}

// Agent is a fake agent that was started.
type Agent struct {
	Bin, Home, Dir string
	Socket         string // of its tmux server; empty without a terminal
	Pane           string // %0
	control        string
	pid            int
	cmd            *exec.Cmd
	out            string // file of its output, without a terminal
}

// Start starts a fake agent and waits until it can be told something. It ends,
// and what it left running too, with the test.
func Start(t testing.TB, o Options) *Agent {
	t.Helper()
	a := &Agent{Bin: Build(t), Home: o.Home, Dir: o.Dir, control: filepath.Join(t.TempDir(), "control")}
	if a.Home == "" {
		a.Home = Home(t)
	}
	if a.Dir == "" {
		a.Dir = t.TempDir()
	}
	if o.Versions {
		a.Bin = versioned(t, a.Bin)
	}
	t.Cleanup(func() { a.reap() })
	argv := append([]string{a.Bin, "--control", a.control, "--fake", o.Fake}, o.Args...)
	if o.Headless {
		a.startHeadless(t, argv, o.Env)
	} else {
		a.startTmux(t, argv, o)
	}
	return a
}

// versioned returns a copy at the path of the native Claude Code.
func versioned(t testing.TB, bin string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "claude", "versions", "2.1.197")
	b, err := os.ReadFile(bin)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func (a *Agent) env(more []string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.Home, "TERM=xterm-256color", "LANG=C.UTF-8"}, more...)
}

func (a *Agent) startHeadless(t testing.TB, argv, env []string) {
	t.Helper()
	a.out = filepath.Join(t.TempDir(), "out")
	out, err := os.Create(a.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	a.cmd = exec.Command(argv[0], argv[1:]...)
	a.cmd.Dir, a.cmd.Env, a.cmd.Stdout, a.cmd.Stderr = a.Dir, a.env(env), out, out
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := a.cmd.Start(); err != nil {
		t.Fatalf("cannot start the fake agent: %v", err)
	}
	a.pid = a.cmd.Process.Pid
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
	})
}

func (a *Agent) startTmux(t testing.TB, argv []string, o Options) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is needed for this test: make test installs it")
	}
	dir, err := os.MkdirTemp("", "fa") // a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	a.Socket = filepath.Join(dir, "s")
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", a.Socket, "kill-server").Run() // it may be gone already
		_ = os.RemoveAll(dir)
	})
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("set -g remain-on-exit on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", conf, "new-session", "-d", "-P", "-F", "#{pane_id}", "-c", a.Dir, "-x", size(o.Width, 120), "-y", size(o.Height, 40)}
	for _, e := range a.env(o.Env) {
		args = append(args, "-e", e)
	}
	if o.Shell {
		argv = []string{"sh"}
	}
	a.Pane = strings.TrimSpace(a.tmux(t, append(append(args, "--"), argv...)...))
	if o.Shell {
		a.tmux(t, "send-keys", "-t", a.Pane, "-l", "--", shellLine(append([]string{a.Bin, "--control", a.control, "--fake", o.Fake}, o.Args...)))
		a.tmux(t, "send-keys", "-t", a.Pane, "Enter")
	}
	a.findPID(t, o.Shell)
	if !strings.Contains(o.Fake, "boot") {
		a.Wait(t, "its screen", func() bool { return strings.Contains(a.Screen(t), "Claude Code v") || a.dead(t) })
	}
}

func size(n, other int) string {
	if n == 0 {
		n = other
	}
	return strconv.Itoa(n)
}

// shellLine quotes words for sh.
func shellLine(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	return strings.Join(out, " ")
}

// findPID asks tmux for the pane's process, or the kernel for the shell's child.
func (a *Agent) findPID(t testing.TB, shell bool) {
	t.Helper()
	pid := strings.TrimSpace(a.tmux(t, "display-message", "-p", "-t", a.Pane, "#{pane_pid}"))
	find := func() bool {
		if shell {
			b, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
			if err != nil || len(strings.Fields(string(b))) == 0 {
				return false
			}
			a.pid, _ = strconv.Atoi(strings.Fields(string(b))[0])
			return a.pid > 0
		}
		a.pid, _ = strconv.Atoi(pid)
		return a.pid > 0
	}
	a.Wait(t, "its process", find)
}

// tmux runs one command on the test's own server.
func (a *Agent) tmux(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", a.Socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.Home, "LANG=C.UTF-8", "TERM=xterm-256color"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// PID returns the process of the agent itself.
func (a *Agent) PID() int { return a.pid }

// Do tells it to do a command now, even while it works.
func (a *Agent) Do(t testing.TB, command string) {
	t.Helper()
	f, err := os.OpenFile(a.control, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(command + "\n"); err != nil {
		t.Fatal(err)
	}
}

// Type types text at its prompt, and does not send it.
func (a *Agent) Type(t testing.TB, text string) {
	t.Helper()
	a.tmux(t, "send-keys", "-t", a.Pane, "-l", "--", text)
}

// Keys presses keys, by tmux's names.
func (a *Agent) Keys(t testing.TB, keys ...string) {
	t.Helper()
	for _, k := range keys {
		a.tmux(t, "send-keys", "-t", a.Pane, k)
	}
}

// Screen returns what its pane shows.
func (a *Agent) Screen(t testing.TB) string {
	t.Helper()
	return a.tmux(t, "capture-pane", "-p", "-t", a.Pane)
}

// Title returns its terminal's title.
func (a *Agent) Title(t testing.TB) string {
	t.Helper()
	return strings.TrimSuffix(a.tmux(t, "display-message", "-p", "-t", a.Pane, "#{pane_title}"), "\n")
}

func (a *Agent) dead(t testing.TB) bool {
	return strings.TrimSpace(a.tmux(t, "display-message", "-p", "-t", a.Pane, "#{pane_dead}")) == "1"
}

// Output returns what it has written so far, without a terminal.
func (a *Agent) Output(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(a.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// End waits until an agent without a terminal ends, and returns how: its exit
// status, or minus the signal.
func (a *Agent) End(t testing.TB) int {
	t.Helper()
	late := time.AfterFunc(Deadline, func() { _ = a.cmd.Process.Kill() })
	defer late.Stop()
	_ = a.cmd.Wait() // what matters is in the state
	ws := a.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return -int(ws.Signal())
	}
	return ws.ExitStatus()
}

// Alive says whether its process runs; a zombie does not.
func (a *Agent) Alive() bool {
	_, alive := procstat.Living(a.pid)
	return alive
}

// Record is one line of what it noted.
type Record struct {
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	Session string    `json:"session"`
	What    string    `json:"what"` // prompt, answer, lost, child
	Text    string    `json:"text"`
}

// Log returns what agents of this home have noted, the oldest first.
func (a *Agent) Log() []Record {
	b, err := os.ReadFile(filepath.Join(a.Home, ".fakeagent/log.jsonl"))
	if err != nil {
		return nil
	}
	var out []Record
	for line := range strings.Lines(string(b)) {
		var r Record
		if json.Unmarshal([]byte(line), &r) == nil {
			out = append(out, r)
		}
	}
	return out
}

// Noted returns the texts of one kind of note.
func (a *Agent) Noted(what string) []string {
	var out []string
	for _, r := range a.Log() {
		if r.What == what {
			out = append(out, r.Text)
		}
	}
	return out
}

// Wait waits until something is true, and fails the test when it never is.
func (a *Agent) Wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(Deadline); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			screen := ""
			if a.Pane != "" {
				screen = "\n" + a.Screen(t)
			}
			t.Fatalf("waited %v for %s in vain%s", Deadline, what, screen)
		}
	}
}

// reap ends the agent itself, which may refuse to end, and the children it left
// behind on purpose: sleeps, by the number it noted, when that number is still a
// sleep.
func (a *Agent) reap() {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", a.pid)); err == nil && exe == a.Bin {
		_ = syscall.Kill(a.pid, syscall.SIGKILL)
	}
	for _, text := range a.Noted("child") {
		pid, err := strconv.Atoi(text)
		b, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && readErr == nil && pid > 1 && slices.Contains([]string{"sleep\n", "sh\n"}, string(b)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
