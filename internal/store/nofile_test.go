package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAMarkThatIsNoFileIsNotWaitedFor: in the folder of an agent it is a mark that is lost;
// beside the database it is said, with what to do.
func TestAMarkThatIsNoFileIsNotWaitedFor(t *testing.T) {
	home := t.TempDir()
	agents := filepath.Join(home, "agents")
	if err := os.MkdirAll(filepath.Join(agents, "i1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(agents, "i1", AgentMark), 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(home, "generation")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if w, err := (Options{Mark: own, Agents: agents}).witnesses(); err != nil || w.silent != 1 {
			t.Errorf("of an agent's it says %+v, %v", w, err)
		}
		_ = syscall.Mkfifo(own, 0o600)
		if _, err := (Options{Mark: own}).witnesses(); err == nil || err.Error() != own+" is a named pipe, not a file: remove it" {
			t.Errorf("of its own it says %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("it hangs")
	}
}
