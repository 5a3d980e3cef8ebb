package shim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/sys/procstat"
)

// TestIsGone: a shim is gone when its process is and it wrote down no end. What lives,
// has written an end, has begun nothing or cannot be read is not said to be.
func TestIsGone(t *testing.T) {
	root := t.TempDir()
	me, err := procstat.Read("/proc", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	over := exec.Command("true")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		shim ID
		exit string
		want bool
	}{
		"lives":               {ID{PID: me.PID, Start: me.Start}, "", false},
		"another has its pid": {ID{PID: me.PID, Start: me.Start + 1}, "", true},
		"dead":                {ID{PID: over.Process.Pid, Start: 1}, "", true},
		"dead, and wrote it":  {ID{PID: over.Process.Pid, Start: 1}, `{"v":1,"key":"KEY","agent":{"pid":11,"start":2},"status":0,"at":{"boot":"b"}}`, false},
		"dead, it is torn":    {ID{PID: over.Process.Pid, Start: 1}, `{"v":1,`, false},
	} {
		dir, err := os.MkdirTemp(root, "k")
		if err != nil {
			t.Fatal(err)
		}
		write := func(file, text string) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		key := filepath.Base(dir)
		write("started.json", fmt.Sprintf(`{"v":1,"key":%q,"name":"s7","shim":{"pid":%d,"start":%d},"agent":{"pid":11,"start":2},"at":{"boot":"b"},"cap":"none"}`, key, c.shim.PID, c.shim.Start))
		if c.exit != "" {
			write("exit.json", strings.ReplaceAll(c.exit, "KEY", key))
		}
		if got := IsGone(dir); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if IsGone(filepath.Join(root, "none")) {
		t.Error("one that was never started is gone")
	}
}
