package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// What takes its time says so: on a terminal after a second, and each second, wiped away when
// the answer is there; elsewhere a line each ten seconds.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		takes    time.Duration
		want     string

		complains bool // in the middle of it
	}{
		{"quick", true, 900 * time.Millisecond, "", false},
		{"slow", true, 2500 * time.Millisecond, "\r\x1b[Klooking … 1s\r\x1b[Kstill looking … 2s\r\x1b[K", false},
		{"slow, and says something else", true, 2500 * time.Millisecond, "\r\x1b[Klooking … 1s\r\x1b[Kcustos: no\n\r\x1b[Kstill looking … 2s\r\x1b[K", true},
		{"no terminal", false, 9 * time.Second, "", false},
		{"no terminal, long", false, 25 * time.Second, "custos: still looking, 10s so far\ncustos: still still looking, 20s so far\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				a := &app{Env: Env{Stderr: &out, Progress: c.terminal}}
				p := a.progress("looking")
				time.Sleep(c.takes / 2)
				p.now("still looking")
				if c.complains {
					a.complain("no", "")
				}
				time.Sleep(c.takes / 2)
				p.end()
				p.end()
				if out.String() != c.want {
					t.Errorf("wrote %q, want %q", out.String(), c.want)
				}
			})
		})
	}
}
