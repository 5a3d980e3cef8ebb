//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/sys/procstat"
)

// TestMain lets the test binary be the shim, so that the shim runs under the
// race detector too.
func TestMain(m *testing.M) {
	if isLauncher(os.Args[1:]) {
		os.Exit(become(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "--try" {
		os.Exit(tryAll(os.Args[2:]))
	}
	if os.Getenv("CUSTOS_TEST_SHIM") == "" {
		os.Exit(m.Run())
	}
	os.Unsetenv("CUSTOS_TEST_SHIM")
	os.Exit(run(os.Args[1:], os.Environ()))
}

// start starts a headless shim for argv in dir, which is also its key.
func start(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"--dir", dir, "--key", filepath.Base(dir), "--headless"}, args...)...)
	cmd.Env = append(os.Environ(), "CUSTOS_TEST_SHIM=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range below(cmd.Process.Pid) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // descendants of what this test started
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the shim said: %s", &errs)
		}
	})
	return cmd
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

// read reads a record, and says whether it is there.
func read(t *testing.T, dir, name string, into any) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v: %q", name, err, text)
	}
	return true
}

func awaitStarted(t *testing.T, dir string) (s started) {
	t.Helper()
	await(t, "started.json", func() bool { return read(t, dir, "started.json", &s) })
	return s
}

func awaitExit(t *testing.T, dir string) (x exited) {
	t.Helper()
	await(t, "exit.json", func() bool { return read(t, dir, "exit.json", &x) })
	return x
}

func code(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestBadCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--key", "k", "--", "true"}, {"--dir", "/d", "--", "true"}, {"--dir", "/d", "--key", "a/b", "--", "true"},
		{"--dir", "/d", "--key", ".k", "--", "true"}, {"--dir", "/d", "--key", "k"}, {"--dir", "/d", "--key", "k", "--from", "f", "--", "x"},
		{"--dir", "/d", "--key", "k", "--log-max", "1", "--", "x"}, {"--dir", "/d", "--key", "k", "--memory-max", "-1", "--", "x"},
		{"--nonsense", "--", "x"},
	} {
		if o, err := parseOptions(args); err == nil || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%q: %+v, %v", args, o, err)
		}
		if got := run(args, nil); got != exitUsage {
			t.Errorf("%q ends with %d", args, got)
		}
	}
}

// A shim's own exit status is its agent's.
func TestExitStatusIsPassedOn(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143} {
		if got := code(t, start(t, t.TempDir(), "--", "sh", "-c", script)); got != want {
			t.Errorf("%q: %d, want %d", script, got, want)
		}
	}
}

func TestTheKeyIsClaimedOnce(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir, "--", "sleep", "1000")
	awaitStarted(t, dir)
	var said bytes.Buffer
	self, _ := os.Executable()
	second := exec.Command(self, "--dir", dir, "--key", filepath.Base(dir), "--headless", "--", "touch", filepath.Join(dir, "ran"))
	second.Env = append(os.Environ(), "CUSTOS_TEST_SHIM=1")
	second.Stderr = &said
	_ = second.Run()
	if second.ProcessState.ExitCode() != exitTaken || !strings.Contains(said.String(), fmt.Sprintf("process %d ", first.Process.Pid)) || !strings.Contains(said.String(), "is running") {
		t.Errorf("the second ended with %d and said %q", second.ProcessState.ExitCode(), &said)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the second ran its agent")
	}
}

// Of many shims for one key, exactly one runs its agent.
func TestOneOfMany(t *testing.T) {
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 8 {
		all = append(all, start(t, dir, "--", "sh", "-c", "echo x >>\"$0\"; exit 3", filepath.Join(dir, "runs")))
	}
	codes := map[int]int{}
	for _, c := range all {
		codes[code(t, c)]++
	}
	if codes[3] != 1 || codes[exitTaken] != 7 {
		t.Errorf("they ended with %v", codes)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "runs")); string(b) != "x\n" {
		t.Errorf("it ran %q", b)
	}
}

func TestFailures(t *testing.T) {
	for what, c := range map[string]struct {
		args []string
		want int
	}{
		"not found":      {[]string{"--", "no-such-program-here"}, exitNotFound},
		"a folder":       {[]string{"--", "/tmp"}, exitNotAllowed},
		"no launch file": {[]string{"--from", "/nonexistent/file"}, exitNotFound},
	} {
		dir := t.TempDir()
		if got := code(t, start(t, dir, c.args...)); got != c.want {
			t.Errorf("%s: ended with %d, want %d", what, got, c.want)
		}
		var f failed
		if !read(t, dir, "failed.json", &f) || f.Error == "" || f.Key != filepath.Base(dir) {
			t.Errorf("%s: failed.json says %+v", what, f)
		}
	}
}

// Of a program that is not there it is said in one line what to do, and not all of PATH.
func TestAMissingProgramIsSaidInALine(t *testing.T) {
	dir := t.TempDir()
	code(t, start(t, dir, "--", "no-such-program-here"))
	var f failed
	if !read(t, dir, "failed.json", &f) || strings.Contains(f.Error, os.Getenv("PATH")) || len(f.Error) > 200 || !strings.Contains(f.Error, "install it") {
		t.Errorf("failed.json says %q", f.Error)
	}
}

// An agent that cannot be recorded does not run.
func TestUnrecordedAgentIsEnded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "started.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := start(t, dir, "--", "sh", "-c", "while :; do :; done")
	if got := code(t, cmd); got != exitCannot {
		t.Errorf("ended with %d", got)
	}
	var f failed
	if !read(t, dir, "failed.json", &f) || !strings.Contains(f.Error, "it was ended") {
		t.Errorf("failed.json says %+v", f)
	}
}

// TERM reaches the agent; once that has ended, TERM has the shim leave what is left.
func TestTerm(t *testing.T) {
	dir := t.TempDir()
	cmd := start(t, dir, "--", "sh", "-c", "trap 'exit 9' TERM; setsid sh -c ': >\"$0\"; exec sleep 1000' \"$0\" & while :; do sleep 0.01; done", filepath.Join(dir, "ready"))
	await(t, "the agent", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	s := awaitStarted(t, dir)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if x := awaitExit(t, dir); x.Status == nil || *x.Status != 9 || x.Agent != s.Agent {
		t.Errorf("the agent ended %+v", x)
	}
	var l left
	await(t, "left.json", func() bool { return read(t, dir, "left.json", &l) && len(l.Procs) == 1 })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if got := code(t, cmd); got != 9 {
		t.Errorf("the shim ended with %d", got)
	}
	if start, err := startOf(l.Procs[0].PID); err != nil || start != l.Procs[0].Start {
		t.Errorf("the one left ended with the shim: %v", err)
	}
	_ = syscall.Kill(l.Procs[0].PID, syscall.SIGKILL)
}

// Signals that are not for the agent do nothing, and the agent starts with
// every signal as it should be.
func TestSignalsOfTheShimStayItsOwn(t *testing.T) {
	dir := t.TempDir()
	cmd := start(t, dir, "--", "sleep", "1000")
	s := awaitStarted(t, dir)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGTSTP} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.Agent.PID) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if key, value, _ := strings.Cut(line, ":"); key == "SigIgn" || key == "SigBlk" {
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err != nil || n&0x7fffffff != 0 {
				// Real-time signals are whoever started the tests' own: libc keeps two of them.
				t.Errorf("the agent began with %s", line)
			}
		}
	}
	_ = syscall.Kill(s.Agent.PID, syscall.SIGKILL)
	if x := awaitExit(t, dir); x.Signal == nil || *x.Signal != 9 || x.OOM == nil || *x.OOM {
		t.Errorf("the agent ended %+v", x)
	}
}

// At every moment either /proc or exit.json tells how the agent ended.
func TestTheEndIsNeverUnknown(t *testing.T) {
	for i := range 20 {
		dir := t.TempDir()
		start(t, dir, "--input", "--", "sh", "-c", "read x; exit 7")
		s := awaitStarted(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "stdin"), []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		for {
			p, err := procstat.Read("/proc", s.Agent.PID)
			if err != nil {
				break // reaped
			}
			if p.State == 'Z' && p.Exit>>8 != 7 {
				t.Errorf("the zombie says %d", p.Exit)
			}
		}
		var x exited
		if !read(t, dir, "exit.json", &x) || *x.Status != 7 {
			t.Fatalf("run %d: it is reaped, exit.json says %+v", i, x)
		}
	}
}

// What an agent prints is kept in its order, and is never more than was agreed.
func TestLogsAreCapped(t *testing.T) {
	dir := t.TempDir()
	const limit = 64 << 10
	start(t, dir, "--log-max", strconv.Itoa(limit), "--", "sh", "-c",
		`i=0; while [ $i -lt 60000 ]; do echo "line $i"; i=$((i+1)); done; echo oops >&2; sleep 1000`)
	awaitStarted(t, dir)
	all := func() string {
		a, _ := os.ReadFile(filepath.Join(dir, "stdout.log.1"))
		b, _ := os.ReadFile(filepath.Join(dir, "stdout.log"))
		return string(a) + string(b)
	}
	await(t, "the log's end, capped", func() bool {
		s := all()
		return strings.HasSuffix(s, "line 59999\n") && len(s) <= limit+block
	})
	lines := strings.Split(strings.TrimSpace(all()), "\n")[1:]
	first, _ := strconv.Atoi(strings.TrimPrefix(lines[0], "line "))
	for i, l := range lines {
		if l != fmt.Sprintf("line %d", first+i) {
			t.Fatalf("line %d is %q, want line %d", i, l, first+i)
		}
	}
	if len(lines) < 1000 {
		t.Errorf("only %d lines were kept", len(lines))
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "stderr.log")); string(b) != "oops\n" {
		t.Errorf("stderr: %q", b)
	}
}

// What was printed between the last look at the logs and the end is trimmed too:
// the shim leaves no log larger than was agreed, and what is kept is the end, also
// where the head of a file cannot be cut off.
func TestLogsAreCappedAtTheEnd(t *testing.T) {
	for what, ends := range map[string]string{"at once": "", "with something left": "setsid sleep 1000 & "} {
		for _, place := range []string{t.TempDir(), "/dev/shm"} {
			dir, err := os.MkdirTemp(place, "logs")
			if err != nil {
				t.Log(err)
				continue
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			t.Run(what+" in "+filepath.Dir(dir), func(t *testing.T) { cappedAtTheEnd(t, dir, ends) })
		}
	}
}

func cappedAtTheEnd(t *testing.T, dir, ends string) {
	const limit = 64 << 10
	cmd := start(t, dir, "--log-max", strconv.Itoa(limit), "--", "sh", "-c", ends+`yes 0123456789 | head -c 3000000; echo last; yes oops | head -c 1000000 >&2; echo last >&2`)
	awaitExit(t, dir)
	if ends != "" {
		await(t, "left.json", func() bool { var l left; return read(t, dir, "left.json", &l) && len(l.Procs) == 1 })
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	code(t, cmd)
	for _, name := range []string{"stdout.log", "stderr.log"} {
		now, err := os.ReadFile(filepath.Join(dir, name))
		before, e := os.ReadFile(filepath.Join(dir, name+".1"))
		all := string(before) + string(now)
		if err != nil || e != nil || len(all) > limit || len(all) < limit/2 || !strings.HasSuffix(all, "last\n") {
			t.Errorf("%s: %d bytes are kept, of %d, and end with %q; %v, %v", name, len(all), limit, all[max(0, len(all)-20):], err, e)
		}
	}
	if tmp, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(tmp) > 0 {
		t.Errorf("%v is left", tmp)
	}
}

// A cap that cannot be had is not claimed.
func TestCapIsToldHonestly(t *testing.T) {
	for what, args := range map[string][]string{
		"not given":   {"--memory-max", "1000000000"},
		"no cgroup":   {"--memory-max", "1000000000", "--cgroup", t.TempDir()},
		"not a place": {"--memory-max", "1000000000", "--cgroup", "/nonexistent"},
	} {
		dir := t.TempDir()
		start(t, dir, append(args, "--", "true")...)
		if s := awaitStarted(t, dir); s.Cap != "none" || s.CapWhy == "" || s.Cgroup != "" || s.MemoryMax != 1000000000 {
			t.Errorf("%s: %+v", what, s)
		}
		awaitExit(t, dir)
	}
}

// In a cgroup of its own an agent can be found, though the memory controller is
// elsewhere (on this machine: cgroup v1), and the cgroup is given back.
func TestCgroup(t *testing.T) {
	parent := ""
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(root, fmt.Sprintf("custos-test-%d", os.Getpid()))
		if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil && os.Mkdir(dir, 0o755) == nil {
			parent = dir
			t.Cleanup(func() { _ = os.Remove(dir) })
			break
		}
	}
	if parent == "" {
		t.Skip("no cgroup v2 folder can be made here")
	}
	dir := filepath.Join(t.TempDir(), "capped")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := start(t, dir, "--memory-max", "100000000", "--cgroup", parent, "--", "sleep", "1000")
	s := awaitStarted(t, dir)
	if s.Cgroup != filepath.Join(parent, "custos-capped") {
		t.Fatalf("%+v", s)
	}
	procs, err := os.ReadFile(filepath.Join(s.Cgroup, "cgroup.procs"))
	if err != nil || !slices.Contains(strings.Fields(string(procs)), strconv.Itoa(s.Agent.PID)) {
		t.Errorf("in the cgroup are %q, %v", procs, err)
	}
	if _, err := os.Stat(filepath.Join(s.Cgroup, "memory.max")); (err == nil) != (s.Cap == "cgroup") {
		t.Errorf("memory.max: %v, cap %q %q", err, s.Cap, s.CapWhy)
	}
	_ = syscall.Kill(s.Agent.PID, unix.SIGKILL)
	if got := code(t, cmd); got != 137 {
		t.Errorf("ended with %d", got)
	}
	if _, err := os.Stat(s.Cgroup); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cgroup is still there: %v", err)
	}
}

// exit.json needs no room on the disk when it is written: that was taken at the
// start.
func TestReservedRoomSuffices(t *testing.T) {
	dir := t.TempDir()
	r, err := reserve(dir, "exit.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "exit.json")); err == nil {
		t.Error("it is there before it is filled")
	}
	before, _ := r.file.Stat()
	n, yes := 1<<31-1, true
	long := exited{
		V: recordVersion, Key: strings.Repeat("k", 128), Agent: process{PID: n, Start: 1<<64 - 1}, Signal: &n, Core: true, OOM: &yes, Hangup: true,
		MaxRSS: 1<<63 - 1, CPU: 1<<63 - 1, At: now(strings.Repeat("b", 36)),
	}
	if err := r.fill(long); err != nil {
		t.Fatal(err)
	}
	r.settle()
	after, _ := os.Stat(filepath.Join(dir, "exit.json"))
	if !os.SameFile(before, after) || before.Size() != after.Size() {
		t.Errorf("%d bytes were reserved, %d are there", before.Size(), after.Size())
	}
	var x exited
	if !read(t, dir, "exit.json", &x) || x.Key != long.Key || *x.Signal != n || x.MaxRSS != long.MaxRSS {
		t.Errorf("it says %+v", x)
	}
}
