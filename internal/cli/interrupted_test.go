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

const (
	orderHeld = `{"id":"x","do":"stop","agent":"builder","state":"queued","guard":"state","why":"it works","watched":true,"next":[]}`
	// orderBegun is under way, and orderAlone is held back where nobody watches.
	orderBegun = `{"id":"x","do":"stop","agent":"builder","state":"open","action":"a1","watched":true,"next":[]}`
	orderAlone = `{"id":"x","do":"stop","agent":"builder","state":"queued","guard":"state","why":"it works","next":[]}`
)

// interrupts answers orders as it is told, and has the signal come when one is asked
// for the nth time.
type interrupts struct {
	answers []string // "" is none: it is interrupted there
	cancel  context.CancelFunc
}

func (i *interrupts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/v1/orders") {
		_, _ = w.Write([]byte(`{"daemon":true,"pid":4242,"notes":[],"next":[],"seen":{"status":"ok"},
			"agents":[{"name":"builder","owner":"custos","pid":7},{"name":"other","owner":"custos","pid":8}]}`))
		return
	}
	var text string
	if len(i.answers) > 0 {
		text, i.answers = i.answers[0], i.answers[1:]
	}
	if text == "" {
		i.cancel()
		<-r.Context().Done()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte(text))
}

// TestAnInterruptedOrderIsNotTakenBack: who no longer waits for an order is told what
// is known of it, where to see it and how to take it back.
func TestAnInterruptedOrderIsNotTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		here    bool // it is asked of this process
		says    []string
		not     string
	}{
		"not answered": {says: []string{"may have been taken", "custos orders; custos orders cancel "}, not: "cannot finish"},
		"held back": {answers: []string{orderHeld}, not: "may have been",
			says: []string{"interrupted: order x, to stop builder, was taken and waits (state: it works)", "custos orders; custos orders cancel x"}},
		"under way": {answers: []string{orderBegun}, not: "orders cancel",
			says: []string{"interrupted: order x, to stop builder, was taken and is under way", "goes on", "custos orders; custos trace builder"}},
		"in this process": {here: true, says: []string{"may have been taken", "custos orders; custos orders cancel "}, not: "cannot finish"},
		"held back in this process": {here: true, answers: []string{orderAlone}, not: "may have been",
			says: []string{"was taken and waits (state: it works)", "and nothing watches it until custos up", "custos orders; custos orders cancel x"}},
	} {
		for _, verb := range []string{"stop", "recover"} {
			t.Run(name+", "+verb, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				i := &interrupts{answers: c.answers, cancel: cancel}
				var out bytes.Buffer
				code := runWith(ctx, t, strings.NewReader(""), &out, i.daemon(t, c.here), nil, verb, "builder")
				for _, want := range c.says {
					if code != 3 || !strings.Contains(out.String(), want) || strings.Contains(out.String(), c.not) {
						t.Errorf("ended with %d, without %q or with %q: %s", code, want, c.not, out.String())
					}
				}
			})
		}
	}
}

// TestAnInterruptedStopOfAllTellsOfEach: the orders about the others go on as well.
func TestAnInterruptedStopOfAllTellsOfEach(t *testing.T) {
	for name, answers := range map[string][]string{"as the second is given": {orderBegun}, "as they are waited for": {orderBegun, orderBegun}} {
		ctx, cancel := context.WithCancel(t.Context())
		i := &interrupts{answers: answers, cancel: cancel}
		var out bytes.Buffer
		code := runWith(ctx, t, strings.NewReader(""), &out, i.daemon(t, false), nil, "stop", "--all")
		if code != 3 || !strings.Contains(out.String(), "interrupted: ") || !strings.Contains(out.String(), "; 1 more was ordered with it, and stays so") {
			t.Errorf("%s: ended with %d: %s", name, code, out.String())
		}
	}
}

func (i *interrupts) daemon(t *testing.T, here bool) func(func(string) string) cli.Daemon {
	dir, err := os.MkdirTemp("", "custos-cli") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if !here {
		l, err := net.Listen("unix", dir+"/s")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: i}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { s.Close() })
	}
	return func(getenv func(string) string) cli.Daemon {
		d := fake(getenv)
		d.Socket = func(config.Config) string { return dir + "/s" }
		d.Runs = func(config.Config) bool { return !here }
		d.Local = func(context.Context, config.Config) (http.Handler, func() error, error) {
			return i, func() error { return nil }, nil
		}
		return d
	}
}

// TestAnInterruptedDownTellsWhatWasDone: whether the daemon was told to go down, and that it
// does; or that nothing was said to it.
func TestAnInterruptedDownTellsWhatWasDone(t *testing.T) {
	for name, c := range map[string]struct{ at, says string }{
		"once it was told":       {"after", "the daemon was asked to go down, and goes down"},
		"as it is told":          {"/v1/down", "the daemon may have been asked to go down"},
		"as it is said hello to": {"/v1/health", "the daemon was asked nothing, and goes on"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var out bytes.Buffer
			code := runWith(ctx, t, strings.NewReader(""), &out, cutAt(t, c.at, cancel), nil, "down")
			if code != 3 || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), c.says) || strings.Contains(out.String(), "cannot finish") {
				t.Errorf("ended with %d, want %q: %s", code, c.says, out.String())
			}
		})
	}
}

// TestInterruptedBeforeAnOrder: who is interrupted while the daemon does not answer yet hears
// that nothing was ordered.
func TestInterruptedBeforeAnOrder(t *testing.T) {
	for _, words := range [][]string{{"stop", "builder"}, {"stop", "--all"}, {"recover", "builder"}, {"spawn", "new", "--dir", "/", "--", "true"}} {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		code := runWith(ctx, t, strings.NewReader(""), &out, cutAt(t, "/v1/health", cancel), nil, words...)
		if code != 3 || !strings.Contains(out.String(), "interrupted: it was not ordered, and nothing was done") {
			t.Errorf("%v ended with %d: %s", words, code, out.String())
		}
	}
}

// cutAt is a daemon that answers nothing more from when it is asked for a path, or, for
// "after", once it was told to go down; the signal comes then.
func cutAt(t *testing.T, path string, cancel context.CancelFunc) func(func(string) string) cli.Daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "custos-cli") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Bool
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, path) {
			cancel()
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{}`))
		told.Store(path == "after" && r.Method == http.MethodPost)
	})}
	s.ConnState = func(_ net.Conn, is http.ConnState) {
		if is == http.StateNew && told.Load() { // it is looked whether it has gone
			cancel()
		}
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return func(getenv func(string) string) cli.Daemon {
		d := fake(getenv)
		d.Socket = func(config.Config) string { return dir + "/s" }
		d.Runs = func(config.Config) bool { return true }
		return d
	}
}
