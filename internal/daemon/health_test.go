package daemon_test

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/daemon"
)

// serviceManager hears what a daemon says of itself, at a real socket.
type serviceManager struct {
	conn *net.UnixConn
	said *writer
}

func newServiceManager(t *testing.T, socket string) *serviceManager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &serviceManager{conn: conn, said: &writer{}}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			_, _ = m.said.Write(append(b[:n:n], '\n'))
		}
	}()
	return m
}

func (m *serviceManager) heard(line string) int {
	n := 0
	for _, l := range strings.Split(m.said.String(), "\n") {
		if l == line {
			n++
		}
	}
	return n
}

// TestServiceManagerHears: a real daemon under a service manager with a watchdog of
// two seconds tells that it is ready after its first patrol, then that it watches,
// and that it ends.
func TestServiceManagerHears(t *testing.T) {
	dir, cfg := scratch(t)
	socket := filepath.Join(dir, "notify")
	m := newServiceManager(t, socket)
	said := &writer{}
	d := command(t, dir, "up")
	d.Env = append(d.Env, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=2000000")
	d.Stdout, d.Stderr = said, said
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() })
	await(t, func() string { return said.String() + m.said.String() }, func() bool { return m.heard("WATCHDOG=1") >= 2 })
	if s, err := status(t.Context(), cfg); err != nil || s.Patrols == 0 || m.heard("READY=1") != 1 {
		t.Errorf("ready %d times, %d patrols, %v", m.heard("READY=1"), s.Patrols, err)
	}
	if text := m.said.String(); strings.Index(text, "READY=1") > strings.Index(text, "WATCHDOG=1") {
		t.Errorf("it watched before it was ready:\n%s", text)
	}
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, said)
	}
	await(t, m.said.String, func() bool { return m.heard("STOPPING=1") == 1 })
}

// TestHealth: without a daemon health says so, with what the record tells; with one
// it waits for the first patrol; of one that is stopped in its tracks it says that
// it does not answer.
func TestHealth(t *testing.T) {
	dir, cfg := scratch(t)
	before := fingerprint(t, dir, "state", "journal", "home")
	out, code := says(t, dir, "health")
	if code != 3 || out != "none: no daemon is running; no patrol on record\n" {
		t.Errorf("without a daemon health ended with %d and said %q", code, out)
	}
	if after := fingerprint(t, dir, "state", "journal", "home"); !maps.Equal(before, after) {
		t.Errorf("health left traces: %v", after)
	}
	d, said := up(t, dir, cfg)
	await(t, said.String, func() bool { _, code := says(t, dir, "health"); return code == 0 })
	out, code = says(t, dir, "health", "--json")
	var h api.Health
	if err := json.Unmarshal([]byte(out), &h); err != nil || code != 0 || h.State != api.HealthWell || h.LastPass == nil || h.LastPatrol == nil || h.PassAge == "" {
		t.Errorf("health ended with %d and said %s (%v)", code, out, err)
	}
	if out, code := says(t, dir, "health", "--max-age", "1ns"); code != 1 || !strings.HasPrefix(out, "late: the last whole pass ended ") {
		t.Errorf("a pass older than 1ns: health ended with %d and said %q", code, out)
	}
	if out, code := says(t, dir, "health", "--max-age", "soon"); code != 2 {
		t.Errorf("--max-age soon: health ended with %d and said %q", code, out)
	}
	if err := d.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Process.Signal(syscall.SIGCONT) }) // else it never hears that it is to end
	began := time.Now()
	out, code = says(t, dir, "health")
	if code != 3 || !strings.HasPrefix(out, "silent: a daemon runs (process ") || time.Since(began) > 30*time.Second {
		t.Errorf("of a daemon that stands still health ended with %d after %v and said %q", code, time.Since(began), out)
	}
	if _, err := os.Stat(daemon.Socket(cfg)); err != nil {
		t.Errorf("asking for its health took the daemon's socket away: %v", err)
	}
}
