package cli_test

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"custos/internal/cli"
	"custos/internal/config"
)

// rising is a daemon that has the lock, and answers from the third time on that
// somebody asks whether it is there; with gone, it then ends instead.
func rising(t *testing.T, gone bool) func(func(string) string) cli.Daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "custos-cli") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"daemon":true,"pid":4242,"notes":[]}`))
	})
	var asked atomic.Int32
	return func(getenv func(string) string) cli.Daemon {
		d := fake(getenv)
		d.Socket = func(config.Config) string { return dir + "/s" }
		d.Runs = func(config.Config) bool {
			if asked.Add(1) == 3 && !gone {
				l, err := net.Listen("unix", dir+"/s")
				if err != nil {
					t.Error(err)
				}
				s := &http.Server{Handler: h}
				go func() { _ = s.Serve(l) }()
				t.Cleanup(func() { s.Close() })
			}
			return asked.Load() < 3 || !gone
		}
		return d
	}
}

// A command that comes while the daemon starts is answered by the daemon.
func TestRisingDaemonIsWaitedFor(t *testing.T) {
	var out bytes.Buffer
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, rising(t, false), map[string]string{"NEVER": "1"}, "status"); code != 0 || !strings.Contains(out.String(), "running, pid 4242") {
		t.Errorf("ended with %d: %s", code, out.String())
	}
}

// One that goes while it is waited for is as good as none: the command answers itself.
func TestLeavingDaemonIsNotWaitedForLonger(t *testing.T) {
	var out bytes.Buffer
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, rising(t, true), map[string]string{"NEVER": "1"}, "status"); code != 0 || !strings.Contains(out.String(), "no daemon is running") {
		t.Errorf("ended with %d: %s", code, out.String())
	}
}

// A daemon that never answers does not keep a look from being taken, and cannot
// be told to go.
func TestMuteDaemon(t *testing.T) {
	mute := func(getenv func(string) string) cli.Daemon {
		d := fake(getenv)
		d.Runs = func(config.Config) bool { return true }
		return d
	}
	var out bytes.Buffer
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, mute, map[string]string{"NEVER": "1"}, "status"); code != 0 || !strings.Contains(out.String(), "no daemon is running") {
		t.Errorf("status ended with %d: %s", code, out.String())
	}
	out.Reset()
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, mute, nil, "down"); code != 3 || !strings.Contains(out.String(), "one runs, and does not answer") {
		t.Errorf("down ended with %d: %s", code, out.String())
	}
}
