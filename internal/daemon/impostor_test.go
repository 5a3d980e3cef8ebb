package daemon_test

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"custos/internal/daemon"
	"custos/internal/fleet"
	"custos/internal/server"
	"custos/internal/store"
)

// fires says whether an alert of a rule fires, by the database: nobody is asked.
func (w *town) fires(rule string) bool {
	st, err := store.OpenReadOnly(w.Context(), store.Options{Path: filepath.Join(w.cfg.StateDir, "custos.db")})
	if err != nil {
		return false
	}
	defer st.Close()
	past, err := st.Past(w.Context(), fleet.Instant{})
	return err == nil && slices.ContainsFunc(past.Alerts, func(a fleet.Alert) bool { return a.Rule == rule && a.Status == fleet.AlertFiring })
}

// TestWhoListensWithoutTheLockIsNotBelieved: a process that sits at the socket in
// place of Custos answers every question with {}. Nobody takes that for a fleet
// without agents, and no order reaches it.
func TestWhoListensWithoutTheLockIsNotBelieved(t *testing.T) {
	w := newTown(t, "[limits]\nspawn_memory = \"0\"\n")
	w.spawn("builder", "reply hello", false)
	pid := w.awaitState("builder", "idle").PID
	var told atomic.Int32
	impostor := func() {
		l, err := server.Listen(daemon.Socket(w.cfg)) // it replaces what lies there
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			told.Add(1)
			_, _ = io.WriteString(rw, "{}")
		})}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { s.Close() })
	}
	impostor()
	check := func(when string) {
		t.Helper()
		out, code := w.says("ps")
		if code != 0 || !strings.Contains(out, "builder") || !strings.Contains(out, "it is no Custos") {
			t.Errorf("%s, ps ended with %d and said %s", when, code, out)
		}
		if out, code := w.says("health"); code != 3 || strings.HasPrefix(out, "well") {
			t.Errorf("%s, health ended with %d and said %s", when, code, out)
		}
	}
	check("beside a daemon")
	await(t, w.said.String, func() bool { return w.fires("self-socket") })
	if err := w.up.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = w.up.Wait()
	check("without a daemon")
	if out, code := w.says("stop", "builder"); code != 0 || !strings.Contains(out, "Stopped builder") {
		t.Errorf("stop ended with %d and said %s", code, out)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Error("the agent lives on")
	}
	if n := told.Load(); n != 0 {
		t.Errorf("the impostor was told %d times", n)
	}
}
