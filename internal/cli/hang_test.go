package cli_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/cli"
	"custos/internal/config"
)

// hanging is a daemon that answers until it is asked for a path, and from then on
// nothing, as one that was stopped in the middle. It counts what is done without it.
func hanging(t *testing.T, path string, stops *atomic.Int32) func(func(string) string) cli.Daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "custos-cli") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	stopped, over := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Method+" "+r.URL.Path, path) && once.CompareAndSwap(false, true) {
			close(stopped)
		}
		select {
		case <-stopped:
			<-over
		default:
			_, _ = w.Write([]byte(`{"id":"x","do":"stop","agent":"builder","state":"open","action":"a1","watched":true,"next":[],
				"daemon":true,"pid":4242,"notes":[],"seen":{"status":"ok"},"agents":[{"name":"builder","owner":"custos","pid":7}]}`))
		}
	})
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { close(over); s.Close() })
	return func(getenv func(string) string) cli.Daemon {
		d := fake(getenv)
		d.Socket = func(config.Config) string { return dir + "/s" }
		var ended atomic.Bool
		d.Runs = func(config.Config) bool { return !ended.Load() }
		d.End = func(context.Context, config.Config) (string, error) {
			ended.Store(true)
			return "process 4242 did not answer and was killed", s.Close()
		}
		d.Stop = func(_ context.Context, _ config.Config, agent, _, _ string) (string, error) {
			stops.Add(1)
			return agent + ": SIGTERM to 1 process", nil
		}
		return d
	}
}

// A daemon that hangs while it is asked, at whatever moment, is given up soon: what can
// be done without it is done.
func TestADaemonThatHangsInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		path, says string
		stops      int32
		args       []string
	}{
		"as it takes the order": {"POST /v1/orders", "Stopped without an order", 1, []string{"stop", "builder"}},
		"once it has taken it":  {"GET /v1/orders/", "Stopped without an order", 1, []string{"stop", "builder"}},
		"as it tells who runs":  {"GET /v1/agents", "Stopped without an order", 1, []string{"stop", "--all"}},
		"as it tells how it is": {"GET /v1/status", "and does not answer", 0, []string{"status"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var out bytes.Buffer
			var stops atomic.Int32
			code := runWith(ctx, t, strings.NewReader(""), &out, hanging(t, c.path, &stops), nil, c.args...)
			if code != 0 || stops.Load() != c.stops || !strings.Contains(out.String(), c.says) {
				t.Errorf("ended with %d, and ended the agent %d times: %s", code, stops.Load(), out.String())
			}
		})
	}
}

// soon is how long a command that a person needs when something is wrong may take beside
// a daemon that hangs: it waits for 5 s, and does what it can without it.
const soon = 8 * time.Second

// What a person needs when something is wrong is said or done soon, though the daemon
// hangs: from the beginning, or as it is asked for that very thing.
func TestBrakesDoNotWaitForADaemonThatHangs(t *testing.T) {
	var all sync.WaitGroup
	for line, c := range map[string]struct{ path, says string }{
		"status": {"GET /v1/status", "a daemon runs, and does not answer"}, "health": {"GET /v1/health", "silent: a daemon runs, and does not answer"},
		"ps": {"GET /v1/agents", "a daemon runs, and does not answer"}, "freeze because": {"POST /v1/freeze", "Frozen: Custos acts on nothing"},
		"thaw": {"POST /v1/thaw", "Custos was not frozen"}, "stop builder": {"POST /v1/orders", "Stopped without an order: builder"},
		"stop --all": {"POST /v1/orders", "Stopped without an order"}, "down": {"POST /v1/down", "The daemon is down: process 4242 did not answer and was killed"},
	} {
		for when, path := range map[string]string{"from the beginning": "", "as it is asked for it": c.path} {
			daemon, home := hanging(t, path, new(atomic.Int32)), t.TempDir()
			all.Go(func() {
				var out bytes.Buffer
				began := time.Now()
				code := runIn(t.Context(), home, strings.NewReader(""), &out, daemon, nil, strings.Fields(line)...)
				if took := time.Since(began); took > soon || !strings.Contains(out.String(), c.says) {
					t.Errorf("%s, of a daemon that hangs %s, ended with %d after %v, and said %q", line, when, code, took, out.String())
				}
			})
		}
	}
	all.Wait()
}
