package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/store"
)

// TestMatrixSend runs the script that formulas find, with a custos that says how
// it was called.
func TestMatrixSend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a dir", "bin")
	echo := filepath.Join(t.TempDir(), "cust'os")
	if err := os.WriteFile(echo, []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := makeTools(dir, []string{echo, "--config", "/a b"}); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("matrix_send", "supervisor", "--all $(touch x) 'well'\nok", "$thread", "context")
	c.Path, c.Err = filepath.Join(dir, "matrix_send"), nil
	out, err := c.CombinedOutput()
	if want := "<--config></a b><tell><--from><supervisor><--><--all $(touch x) 'well'\nok>"; err != nil || string(out) != want {
		t.Errorf("called with %s, %v; want %s", out, err, want)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left %v, %v", list, err)
	}
}

// TestTellIsCommitted: what is told is in the outbox, once.
func TestTellIsCommitted(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "c.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := fleet.Instant{Boot: "b", Up: 1}
	b := book{now: func() fleet.Instant { return now }, l: &ledgerFile{st: st, lock: &lock{}}}
	for range 2 {
		if err := b.tell(t.Context(), fleet.Message{ID: "t1", Kind: fleet.MessageTold, At: now, Priority: fleet.P2, Subject: "ops: out"}); err != nil {
			t.Fatal(err)
		}
	}
	due, err := st.Due(t.Context(), now, 9)
	if err != nil || len(due) != 1 || !strings.Contains(due[0].Subject, "out") {
		t.Errorf("due %+v, %v", due, err)
	}
}
