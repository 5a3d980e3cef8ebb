package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"custos/internal/daemon"
)

// programs are those that run in this town, by the name of their program.
func (w *town) programs() (out []string) {
	for _, pid := range w.inhabitants() {
		if at, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
			out = append(out, filepath.Base(at))
		}
	}
	slices.Sort(out)
	return out
}

// livingTown is a town whose daemon is down, and an agent in a terminal and one without
// live on.
func livingTown(t *testing.T) (w *town, pids []int) {
	t.Helper()
	w = newTown(t, "")
	w.spawn("ann", "work 1h", false)
	w.spawn("bob", "work 1h", true)
	if out, code := w.says("down"); code != 0 {
		t.Fatalf("down: %d %s", code, out)
	}
	_ = w.up.Wait()
	living, err := daemon.Alive(w.cfg)
	if err != nil || len(living) != 2 {
		t.Fatalf("alive: %+v, %v", living, err)
	}
	for _, l := range living {
		pids = append(pids, l.PID)
	}
	return w, pids
}

// TestUninstallRefusesUntilTold: with living agents nothing goes before somebody said what
// is to become of them.
func TestUninstallRefusesUntilTold(t *testing.T) {
	w, pids := livingTown(t)
	out, code := w.says("uninstall", "--yes")
	if code == 0 || !strings.Contains(out, "ann") || !strings.Contains(out, "bob") || !strings.Contains(out, w.cfg.StateDir) {
		t.Errorf("%d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(w.cfg.StateDir, "custos.db")); err != nil || !runs(pids[0]) || !runs(pids[1]) {
		t.Errorf("something is gone: %v, %v", err, w.programs())
	}
}

// TestUninstallStops: after it nothing of Custos is left, and no agent lives.
func TestUninstallStops(t *testing.T) {
	w, pids := livingTown(t)
	if out, code := w.says("uninstall", "--agents", "stop", "--yes"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	await(t, func() string { return strings.Join(w.programs(), " ") }, func() bool { return len(w.programs()) == 0 })
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	for _, dir := range []string{w.cfg.StateDir, w.cfg.RuntimeDir} {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "custos.toml")); err != nil {
		t.Errorf("the configuration is the user's own: %v", err)
	}
}

// TestUninstallLeaves: the agents run on with what they need, and nothing else is left; a
// second uninstall, when they have ended, takes the rest.
func TestUninstallLeaves(t *testing.T) {
	w, pids := livingTown(t)
	if out, code := w.says("uninstall", "--agents", "leave", "--yes"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	for _, pid := range pids {
		if !runs(pid) {
			t.Errorf("process %d is gone", pid)
		}
	}
	for _, p := range w.programs() {
		if p == "custos" {
			t.Errorf("a Custos runs: %v", w.programs())
		}
	}
	if _, err := os.Stat(filepath.Join(w.cfg.StateDir, "custos.db")); !os.IsNotExist(err) {
		t.Errorf("the database: %v", err)
	}
	living, err := daemon.Alive(w.cfg)
	if err != nil || len(living) != 2 {
		t.Errorf("they are no longer known: %+v, %v", living, err)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	await(t, func() string { return strings.Join(w.programs(), " ") }, func() bool {
		living, err := daemon.Alive(w.cfg)
		return err == nil && len(living) == 0
	})
	if out, code := w.says("uninstall", "--yes"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	await(t, func() string { return strings.Join(w.programs(), " ") }, func() bool { return len(w.programs()) == 0 })
	if _, err := os.Lstat(w.cfg.RuntimeDir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", w.cfg.RuntimeDir, err)
	}
}
