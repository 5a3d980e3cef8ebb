package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/sys/shim"
)

// TestAKilledShimIsNoEndOfItsOwn: an agent whose shim is killed is hung up, and ends
// with status 0, as CLIs do. Nobody asked for it: it is told, and started again.
func TestAKilledShimIsNoEndOfItsOwn(t *testing.T) {
	w := newTown(t, "[limits]\nsettle = \"100ms\"\n[recover]\nsettle = \"100ms\"\n")
	w.spawn("builder", "reply hello", false)
	first := w.awaitState("builder", "idle")
	w.killShim("builder")
	await(t, func() string { return fmt.Sprintf("%+v\n%s", w.agent("builder"), w.said) }, func() bool {
		a := w.agent("builder")
		return a.State == "idle" && a.PID != first.PID
	})
	told := w.alerts("agent-crashed")
	if len(told) != 1 || !strings.Contains(told[0].Summary, "shim") {
		t.Errorf("told of it: %+v", told)
	}
}

// killShim kills the shim that the newest instance of an agent runs under.
func (w *town) killShim(name string) {
	w.Helper()
	open, err := shim.Open(filepath.Join(w.cfg.RuntimeDir, "agents"))
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range open {
		if s.Name == name {
			if err := syscall.Kill(s.Shim.PID, syscall.SIGKILL); err != nil {
				w.Fatal(err)
			}
			return
		}
	}
	w.Fatalf("no shim of %s is open: %+v", name, open)
}
