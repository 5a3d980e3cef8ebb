package daemon_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/daemon"
)

// TestDaemonThatStarts: from the moment a daemon has the lock, a command is
// answered by it, though it has no socket yet; and from the moment down returns,
// the next one may be started.
func TestDaemonThatStarts(t *testing.T) {
	dir, cfg := scratch(t)
	if daemon.Runs(cfg) {
		t.Error("a daemon is said to run where there was none")
	}
	if _, err := os.Stat(cfg.StateDir); err == nil {
		t.Error("asking whether a daemon runs left something on disk")
	}
	for range 3 {
		said := &writer{}
		d := command(t, dir, "up")
		d.Stdout, d.Stderr = said, said
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() })
		await(t, said.String, func() bool { return daemon.Runs(cfg) })
		if out, code := says(t, dir, "status", "--json"); code != 0 || !strings.Contains(out, `"daemon": true`) {
			t.Errorf("status ended with %d and said %s", code, out)
		}
		if out, code := says(t, dir, "down"); code != 0 {
			t.Fatalf("down ended with %d: %s", code, out)
		}
		if daemon.Runs(cfg) {
			t.Error("after down there is still a daemon")
		}
	}
}

// TestOneCommandIsNoDaemon: whoever else holds the lock is not waited for.
func TestOneCommandIsNoDaemon(t *testing.T) {
	_, cfg := scratch(t)
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		if _, err := c.Patrol(ctx, api.PatrolOrder{}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(cfg.RuntimeDir, "lock"))
		if err != nil || !strings.HasPrefix(string(text), "custos (one command)") {
			t.Fatalf("the lock's file says %q, %v", text, err)
		}
		if daemon.Runs(cfg) {
			t.Error("one command is taken for a daemon")
		}
	})
}

// TestPatrolWhereNothingCanBeWritten: what is seen is said, above all that the
// disk is full, and nothing is done.
func TestPatrolWhereNothingCanBeWritten(t *testing.T) {
	dir, cfg := scratch(t)
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func(source, kind string, flags uintptr) {
		t.Helper()
		if err := syscall.Mount(source, cfg.StateDir, kind, flags, ""); err != nil {
			t.Fatalf("cannot mount: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(cfg.StateDir, syscall.MNT_DETACH) })
	}
	before := fingerprint(t, dir, "state")
	mount(cfg.StateDir, "", syscall.MS_BIND)
	mount("", "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
	out, code := says(t, dir, "patrol", "--apply")
	for _, want := range []string{"Patrol", "lock-dead", "nothing", "were not begun", "could not be kept", "read-only file system"} {
		if code != 3 || !strings.Contains(out, want) {
			t.Errorf("patrol ended with %d, without %q:\n%s", code, want, out)
		}
	}
	if after := fingerprint(t, dir, "state"); len(after) != len(before) {
		t.Error("it did something that nothing tells of")
	}
}

// TestCommandWithoutAShim: where custos-shim is not beside the binary a step that
// needs it fails with the cause; it is not waited for.
func TestCommandWithoutAShim(t *testing.T) {
	dir, _ := scratch(t)
	file := filepath.Join(dir, "once.toml")
	if err := os.WriteFile(file, []byte("formula = \"once\"\n[[steps]]\nid = \"make\"\nrun = [\"true\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	long := command(t, dir, "formula", "run", file)
	cmd := exec.CommandContext(ctx, long.Path, long.Args[1:]...)
	cmd.Env = append(long.Env, "PATH=/usr/bin:/bin")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("it waits still: %s", out)
	}
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "cannot find custos-shim") || !strings.Contains(string(out), "failed") {
		t.Errorf("it ended with %d, %v: %s", cmd.ProcessState.ExitCode(), err, out)
	}
}
