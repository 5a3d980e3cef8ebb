package reaper

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 30 * time.Second

// TestMain is also the program that is run as the first process of a pid namespace.
func TestMain(m *testing.M) {
	job := os.Getenv("REAPER_JOB")
	if job == "" {
		os.Exit(m.Run())
	}
	if Needed() && os.Getenv("REAPER_OFF") == "" {
		code, err := Run()
		if err != nil {
			fmt.Println(err)
			code = 99
		}
		os.Exit(code)
	}
	os.Exit(work(job))
}

// work is what the worker does.
func work(job string) int {
	switch job {
	case "orphans":
		return orphans()
	case "signal":
		return awaitSignal()
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "environment":
		_, err := os.ReadFile("/proc/1/environ")
		fmt.Println(errors.Is(err, os.ErrPermission), err)
	}
	return 7
}

// orphans makes grandchildren that lose their parents, beside children that are waited for, and
// says what is wrong.
func orphans() int {
	for i := range 100 {
		pid, err := orphan()
		if err != nil {
			fmt.Println("no orphan:", err)
			return 1
		}
		var exit *exec.ExitError
		if err := exec.Command("sh", "-c", "exit "+strconv.Itoa(i+3)).Run(); !errors.As(err, &exit) || exit.ExitCode() != i+3 {
			fmt.Println("the end of a child was taken away:", err)
			return 2
		}
		if i%20 == 0 && !buried(pid) {
			fmt.Println("an orphan stays:", state(pid))
			return 3
		}
	}
	return 7
}

// orphan starts a process whose parent ends at once, and returns its pid.
func orphan() (int, error) {
	out, err := exec.Command("sh", "-c", "(sh -c 'echo $PPID $$; exec true' &)").Output()
	if err != nil {
		return 0, err
	}
	_, pid, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strconv.Atoi(pid)
}

// buried waits until a process is gone from the table.
func buried(pid int) bool {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) { // until the kernel and the first process are done
		if state(pid) == "" {
			return true
		}
	}
	return false
}

// state is the line that says how a process is; "" when there is none.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "State:") {
			return strings.TrimSpace(line)
		}
	}
	return "?"
}

func awaitSignal() int {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP)
	fmt.Println("ready")
	for s := range c {
		fmt.Println("heard", s)
		if s == syscall.SIGTERM {
			return 5
		}
	}
	return 1
}

// reachable is a copy of a program that every user may run.
func reachable(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reaper")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "first"), text, 0o755)
	}
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "first")
}

// first runs a job as the first process of a pid namespace, as an ordinary user.
func first(t *testing.T, job string, more ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, and nothing stands for it: a pid namespace needs root")
	}
	self, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child",
		"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", reachable(t, self))
	cmd.Env = append(os.Environ(), append(more, "REAPER_JOB="+job)...)
	return cmd
}

func run(t *testing.T, job string, more ...string) (code int, said string) {
	t.Helper()
	out, err := first(t, job, more...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), string(out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	return 0, string(out)
}

// Orphans are buried, and no end of a child is taken from who waits for it.
func TestOrphansAreBuried(t *testing.T) {
	if code, said := run(t, "orphans"); code != 7 {
		t.Errorf("it ended with %d: %s", code, said)
	}
	if code, said := run(t, "orphans", "REAPER_OFF=1"); code != 3 || !strings.Contains(said, "zombie") {
		t.Errorf("without a reaper nothing is found to stay, so that this test proves nothing: %d %s", code, said)
	}
}

// What is sent to the first process reaches the worker, and how that ends is how it ends.
func TestSignalsAndEnds(t *testing.T) {
	cmd := first(t, "signal")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slow := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer slow.Stop()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "heard hangup", "heard terminated"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("it says %q, want %q", lines.Text(), want)
		}
		send := map[string]syscall.Signal{"ready": syscall.SIGHUP, "heard hangup": syscall.SIGTERM}
		if s, ok := send[want]; ok {
			if err := syscall.Kill(child(t, cmd.Process.Pid), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("it ended with %v, want 5", err)
	}
	if code, said := run(t, "killed"); code != 128+9 {
		t.Errorf("a worker that is killed ends with %d: %s", code, said)
	}
}

// child is the only child of a process.
func child(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatalf("the children of %d are %q", pid, text)
	}
	return n
}

// What stands in the environment of the first process no other of its user reads.
func TestTheEnvironmentOfTheFirstProcess(t *testing.T) {
	if code, said := run(t, "environment"); code != 7 || !strings.HasPrefix(said, "true ") {
		t.Errorf("%d %s", code, said)
	}
}
