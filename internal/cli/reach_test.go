package cli_test

import (
	"bytes"
	"context"
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
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, mute, map[string]string{"NEVER": "1"}, "status"); code != 0 || !strings.Contains(out.String(), "a daemon runs, and does not answer") {
		t.Errorf("status ended with %d: %s", code, out.String())
	}
	out.Reset()
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, mute, nil, "down"); code != 3 || !strings.Contains(out.String(), "one runs, and does not answer") {
		t.Errorf("down ended with %d: %s", code, out.String())
	}
}

// A daemon that is started while a command is about to write by itself takes the lock:
// what was asked goes to that daemon then, once.
func TestAPersonsWordGoesToADaemonThatWasJustStarted(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		args []string
	}{
		"an order":             {"/v1/orders", []string{"nudge", "builder", "hello"}},
		"an ack":               {"/v1/alerts/3/ack", []string{"ack", "3"}},
		"an approval":          {"/v1/alerts/3/approve", []string{"approve", "3"}},
		"a silence":            {"/v1/silences", []string{"silence", "agent-idle", "--for", "1h"}},
		"a mail":               {"/v1/mail", []string{"mail", "send", "builder", "hello"}},
		"a mail that was read": {"/v1/mail/m1", []string{"mail", "read", "m1"}},
		"a piece of work":      {"/v1/work", []string{"work", "add", "mend it"}},
	} {
		t.Run(name, func(t *testing.T) { givesToTheDaemon(t, c.path, c.args) })
	}
}

func givesToTheDaemon(t *testing.T, path string, args []string) {
	dir, err := os.MkdirTemp("", "custos-cli")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var runs atomic.Bool
	var here, there atomic.Int32
	daemon := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			there.Add(1)
			if r.URL.Path != path {
				t.Errorf("it asks for %s, want %s", r.URL.Path, path)
			}
		}
		_, _ = w.Write([]byte(`{"id":"x","do":"nudge","agent":"builder","state":"done","over":true,"next":[]}`))
	})
	held := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		here.Add(1)
		l, err := net.Listen("unix", dir+"/s")
		if err != nil {
			t.Error(err)
		}
		s := &http.Server{Handler: daemon}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { s.Close() })
		runs.Store(true)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"kind":"held","message":"another custos is writing"}`))
	})
	started := func(getenv func(string) string) cli.Daemon {
		d := fake(getenv)
		d.Socket = func(config.Config) string { return dir + "/s" }
		d.Runs = func(config.Config) bool { return runs.Load() }
		d.Local = func(context.Context, config.Config) (http.Handler, func() error, error) {
			return held, func() error { return nil }, nil
		}
		return d
	}
	var out bytes.Buffer
	if code := runWith(t.Context(), t, strings.NewReader(""), &out, started, nil, args...); code != 0 || here.Load() != 1 || there.Load() != 1 {
		t.Errorf("ended with %d, was given %d times here and %d times to the daemon: %s", code, here.Load(), there.Load(), out.String())
	}
}
