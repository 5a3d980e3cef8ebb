package daemon

import (
	"net"
	"os"
	"testing"

	"custos/internal/config"
)

// TestAKilledDaemonLeavesTheNextOneItsSocket: what it left is removed, what the next one has
// made by then is not.
func TestAKilledDaemonLeavesTheNextOneItsSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cfg := config.Config{RuntimeDir: dir}
	l, err := net.Listen("unix", Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	was, err := os.Lstat(Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(Socket(cfg), Socket(cfg)+"2"); err != nil {
		t.Fatal(err)
	}
	next, err := net.Listen("unix", Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	is, err := os.Lstat(Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := clearSocket(cfg, was); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(Socket(cfg)); err != nil {
		t.Errorf("that of the next one is gone: %v", err)
	}
	if err := clearSocket(cfg, is); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(Socket(cfg)); err == nil {
		t.Error("what it left is still there")
	}
}
