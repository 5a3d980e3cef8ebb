//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDiskOfANode: a node whose disk was full has all of the leases again when there is room.
func TestDiskOfANode(t *testing.T) {
	if os.Getenv("CUSTOS_CHAOS") == "" {
		t.Skip("CUSTOS_CHAOS is not set")
	}
	r := newRun(t, nil)
	began := uptime()
	undo := fill(filepath.Join(r.w.nodeDirs[0], "store"))
	r.w.eventually(time.Minute, "the node notices that its disk is full", func() error {
		if _, err := r.w.whole(); err != nil {
			return nil
		}
		return os.ErrExist
	})
	undo()
	r.recover(began)
}
