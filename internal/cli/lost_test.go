package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"custos/internal/api"
	"custos/internal/cli"
	"custos/internal/config"
)

// killed is a daemon that dies each time it has read what is asked of it by one method
// below a path, so often, and answers afterwards; with gone, nobody comes back.
type killed struct {
	t            *testing.T
	asked        string // "POST /v1/orders"
	times        int32
	gone         bool
	socket       string
	server       *http.Server
	runs         atomic.Bool
	mu           sync.Mutex
	there, here  []string // bodies that the daemon, and this process, has read
	stops, kills atomic.Int32
	wasGone      bool        // nothing of the agent runs any more
	full         atomic.Bool // it can write nothing down
	verify       func() error
	frozen       string // who had frozen Custos when the command began
}

func newKilled(t *testing.T, asked string, times int32, gone bool) *killed {
	t.Helper()
	dir, err := os.MkdirTemp("", "custos-cli") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	k := &killed{t: t, asked: asked, times: times, gone: gone, socket: dir + "/s"}
	l, err := net.Listen("unix", k.socket)
	if err != nil {
		t.Fatal(err)
	}
	k.server = &http.Server{Handler: http.HandlerFunc(k.serve)}
	k.runs.Store(true)
	go func() { _ = k.server.Serve(l) }()
	t.Cleanup(func() { k.server.Close() })
	return k
}

const orderUnderWay = `{"id":"x","do":"nudge","agent":"builder","state":"open","action":"a1","watched":true,"next":[],
	"daemon":true,"pid":4242,"notes":[],"seen":{"status":"ok"},"agents":[]}`

const orderDone = `{"id":"x","do":"nudge","agent":"builder","state":"done","over":true,"next":[]}`

func (k *killed) serve(w http.ResponseWriter, r *http.Request) {
	body := k.note(&k.there, r)
	switch {
	case k.full.Load():
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"kind":"internal","message":"the disk is full"}`))
	case strings.HasPrefix(r.Method+" "+r.URL.Path, k.asked) && k.kills.Add(1) <= k.times:
		if k.gone {
			k.runs.Store(false)
			os.Remove(k.socket)
		}
		panic(http.ErrAbortHandler) // the connection is closed, and nothing was answered
	case strings.HasPrefix(k.asked, http.MethodGet) && body != "":
		_, _ = w.Write([]byte(orderUnderWay))
	default:
		_, _ = w.Write([]byte(orderDone))
	}
}

func (k *killed) note(list *[]string, r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	*list = append(*list, string(b))
	return string(b)
}

// heard is what was posted to the daemon, and to this process.
func (k *killed) heard() (there, here []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.there), slices.Clone(k.here)
}

func (k *killed) daemon(getenv func(string) string) cli.Daemon {
	d := fake(getenv)
	d.Socket = func(config.Config) string { return k.socket }
	d.Runs = func(config.Config) bool { return k.runs.Load() }
	d.Local = func(context.Context, config.Config) (http.Handler, func() error, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k.note(&k.here, r)
			_, _ = w.Write([]byte(orderDone))
		}), func() error { return nil }, nil
	}
	d.Frozen = func(config.Config) string { return k.frozen }
	d.Verify = func(config.Config, net.Conn) error {
		if k.verify == nil {
			return nil
		}
		return k.verify()
	}
	d.Stop = func(context.Context, config.Config, string, string, string) (string, error) {
		k.stops.Add(1)
		if k.wasGone {
			return "", &api.Error{Kind: api.NotFound, Message: "cannot stop: no agent runs"}
		}
		return "builder: SIGTERM to 1 process", nil
	}
	return d
}

func (k *killed) run(args ...string) (int, string) {
	var out bytes.Buffer
	code := runWith(k.t.Context(), k.t, strings.NewReader(""), &out, k.daemon, nil, args...)
	return code, out.String()
}

// What a daemon has read and not answered, because it was killed, is asked of the next
// one, as one and the same.
func TestAPersonsWordIsGivenAgainToTheDaemonThatComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		asked string
		key   string // that makes two of them one
		args  []string
	}{
		"an order":             {"POST /v1/orders", "id", []string{"nudge", "builder", "hello"}},
		"a stop":               {"POST /v1/orders", "id", []string{"stop", "builder"}},
		"a pause":              {"POST /v1/orders", "id", []string{"pause", "builder"}},
		"a paused project":     {"POST /v1/projects", "", []string{"pause", "--project", "shop"}},
		"a mail":               {"POST /v1/mail", "key", []string{"mail", "send", "builder", "hello"}},
		"a mail that was read": {"POST /v1/mail/m1", "", []string{"mail", "read", "m1"}},
		"a piece of work":      {"POST /v1/work", "key", []string{"work", "add", "mend it"}},
		"a convoy":             {"POST /v1/convoys", "key", []string{"convoy", "create", "all of it"}},
		"a trigger":            {"POST /v1/triggers", "key", []string{"trigger", "deployed"}},
		"an ack":               {"POST /v1/alerts/3/ack", "", []string{"ack", "3"}},
		"a silence":            {"POST /v1/silences", "", []string{"silence", "agent-idle", "--for", "1h"}},
		"a freeze":             {"POST /v1/freeze", "", []string{"freeze"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKilled(t, c.asked, 2, false)
			code, out := k.run(c.args...)
			there, here := k.heard()
			if code != 0 || len(there) != 3 || len(here) != 0 || k.stops.Load() != 0 {
				t.Fatalf("ended with %d, was read %d times there and %d times here, %d stops: %s", code, len(there), len(here), k.stops.Load(), out)
			}
			if there[0] != there[1] || there[0] != there[2] || c.key != "" && field(t, there[0], c.key) == "" {
				t.Errorf("they are not one: %q", there)
			}
		})
	}
}

// A daemon that is killed with an order, and is looked at when it has given up its lock and
// not its socket, is not somebody else: the order is given again to the one that comes back.
func TestADaemonThatIsSeenDyingIsGone(t *testing.T) {
	k := newKilled(t, "POST /v1/orders", 1, false)
	seen := 0
	k.verify = func() error {
		if k.kills.Load() == 1 && seen < 3 {
			seen++
			return &api.Error{Kind: api.Unreachable, Message: "it has just ended"}
		}
		return nil
	}
	code, out := k.run("spawn", "builder")
	there, here := k.heard()
	if code != 0 || len(there) != 2 || len(here) != 0 || there[0] != there[1] || seen != 3 {
		t.Errorf("ended with %d, seen dying %d times, there %q, here %q: %s", code, seen, there, here, out)
	}
}

// A thaw whose first answer is lost finds nothing to thaw the second time: its own word has
// done it, and is told so, by the daemon and without one.
func TestAThawWhoseAnswerIsLost(t *testing.T) {
	for name, gone := range map[string]bool{"it comes back": false, "nobody comes back": true} {
		t.Run(name, func(t *testing.T) {
			for was, want := range map[string]string{"anna: the disk": "Thawed. It was frozen by anna: the disk", "": "Custos was not frozen."} {
				k := newKilled(t, "POST /v1/thaw", 1, gone)
				k.frozen = was
				if code, out := k.run("thaw"); code != 0 || !strings.Contains(out, want) {
					t.Errorf("ended with %d, without %q: %s", code, want, out)
				}
			}
		})
	}
}

// What may be done twice is asked once, and it is said that it may have been done.
func TestWhatMayBeDoneTwiceIsAskedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		asked string
		args  []string
	}{
		"an approval":         {"POST /v1/alerts/3/approve", []string{"approve", "3"}},
		"a denial":            {"POST /v1/alerts/3/deny", []string{"deny", "3"}},
		"what people hear":    {"POST /v1/tell", []string{"tell", "it is done"}},
		"a resumed project":   {"POST /v1/projects", []string{"resume", "--project", "shop"}},
		"a patrol that acts":  {"POST /v1/patrol", []string{"patrol", "--apply"}},
		"an order taken back": {"POST /v1/orders/x/cancel", []string{"orders", "cancel", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKilled(t, c.asked, 1, false)
			code, out := k.run(c.args...)
			there, here := k.heard()
			if code != 3 || len(there) != 1 || len(here) != 0 || !strings.Contains(out, "it may have been taken, and the answer was lost") || !strings.Contains(out, "try: custos feed") {
				t.Errorf("ended with %d, was read %d times there and %d times here: %s", code, len(there), len(here), out)
			}
		})
	}
}

// A daemon that is killed with an order, and does not come back: this process reads the
// same ledger, and answers the same order.
func TestAnOrderIsGoneOnWithWhereNobodyComesBack(t *testing.T) {
	for name, asked := range map[string]string{"as it takes the order": "POST /v1/orders", "once it has taken it": "GET /v1/orders/"} {
		t.Run(name, func(t *testing.T) {
			k := newKilled(t, asked, 1, true)
			code, out := k.run("nudge", "builder", "hello")
			there, here := k.heard()
			if code != 0 || len(here) != 1 || len(there) != 1 || here[0] != there[0] {
				t.Errorf("ended with %d, there %q, here %q: %s", code, there, here, out)
			}
		})
	}
}

// An agent whose stop nobody answers is ended without it; what became of the order is
// not told as if none had been given.
func TestAStopThatIsNeverAnswered(t *testing.T) {
	k := newKilled(t, "POST /v1/orders", 1000, false)
	code, out := k.run("stop", "builder")
	if code != 0 || k.stops.Load() != 1 || strings.Contains(out, "no order could be given") || !strings.Contains(out, "it may have been taken") {
		t.Errorf("ended with %d after %d stops: %s", code, k.stops.Load(), out)
	}
	there, _ := k.heard()
	for _, o := range there {
		if o != there[0] {
			t.Errorf("it is not one order: %q", there)
		}
	}
}

// A stop whose order may have been taken is not told as refused because nothing of the
// agent runs any more.
func TestAStopThatMayHaveBeenDone(t *testing.T) {
	k := newKilled(t, "POST /v1/orders", 1000, false)
	k.wasGone = true
	code, out := k.run("stop", "builder")
	if code != 3 || strings.Contains(out, "no agent") || !strings.Contains(out, "it may have been taken") || !strings.Contains(out, "try: custos trace builder") {
		t.Errorf("ended with %d: %s", code, out)
	}
}

// An agent that has ended, and is to be started again, stays so though its stop cannot be
// written down: whoever asks is told.
func TestAStopThatCannotBeWrittenDown(t *testing.T) {
	k := newKilled(t, "POST /v1/orders", 1000, false)
	k.wasGone = true
	k.full.Store(true)
	code, out := k.run("stop", "builder")
	if code != 3 || !strings.Contains(out, "the disk is full") || !strings.Contains(out, "freeze Custos, or it may start it again") || !strings.Contains(out, "try: custos freeze") {
		t.Errorf("ended with %d: %s", code, out)
	}
}

func field(t *testing.T, body, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	text, _ := all[name].(string)
	return text
}
