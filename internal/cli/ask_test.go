package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// The line of progress comes after a second, on a terminal only, and is wiped
// away when the answer is there.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		takes    time.Duration
		want     string
	}{
		{"quick", true, 900 * time.Millisecond, ""},
		{"slow", true, 3 * time.Second, "looking …\r\x1b[K"},
		{"no terminal", false, 3 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				a := &app{Env: Env{Stderr: &out, Progress: c.terminal}}
				done := a.progress()
				time.Sleep(c.takes)
				done()
				if out.String() != c.want {
					t.Errorf("wrote %q, want %q", out.String(), c.want)
				}
			})
		})
	}
}
