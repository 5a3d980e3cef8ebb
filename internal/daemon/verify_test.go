package daemon_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
)

// TestWhoHasEndedIsNoImpostor: a daemon that ended between being reached and being looked
// at holds no lock any more. It is gone, and not somebody else: who looks again may find
// the one that came back.
func TestWhoHasEndedIsNoImpostor(t *testing.T) {
	dir, err := os.MkdirTemp("", "c") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg := config.Config{StateDir: dir, RuntimeDir: dir}
	if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", daemon.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", daemon.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var e *api.Error
	if err := daemon.Verify(cfg, conn); err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "it is no Custos") {
		t.Errorf("who listens without the lock: %v", err)
	}
	l.Close() // as the end of its process does
	if err := daemon.Verify(cfg, conn); !errors.As(err, &e) || e.Kind != api.Unreachable {
		t.Errorf("who has ended: %v", err)
	}
}
