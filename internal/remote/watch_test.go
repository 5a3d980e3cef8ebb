package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/api"
)

// TestMain is the ssh of these tests, too: it hands its input and output on to a socket.
func TestMain(m *testing.M) {
	socket := os.Getenv("CUSTOS_TEST_SOCKET")
	if socket == "" {
		os.Exit(m.Run())
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("Welcome!\n%stest\n", Greeting)
	go func() { _, _ = io.Copy(c, os.Stdin); _ = c.Close() }()
	_, _ = io.Copy(os.Stdout, c)
	os.Exit(0)
}

// answering is a machine whose Custos answers h, and how many connections it has now.
func answering(t *testing.T, h http.Handler) (Host, *atomic.Int64) {
	t.Helper()
	dir, err := os.MkdirTemp("", "r") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	open := &atomic.Int64{}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nCUSTOS_TEST_SOCKET=" + dir + "/s exec " + self + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return Host{Name: "box1", SSH: "box1", Program: "custos"}, open
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("%s did not come about", what)
		}
	}
}

// recorded is what a Custos of another version answers: fields that are not known here, states
// that are not, and no such thing as what it lacks.
func recorded(lacks ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]string{
			"/v1/look":   `{"at":"2026-11-24T12:00:00Z","mode":"ask","tomorrow":{"a":[1]},"agents":[{"name":"ann","state":"dreaming","since":"1m0s","mood":"good"}],"needs_you":[{"priority":"P1","subject":"agent/ann","summary":"waits","command":"custos dream ann","urgency":9}]}`,
			"/v1/status": `{"mode":"ask","new":true}`,
			"/v1/alerts": `{"alerts":[{"number":1,"rule":"new-rule","priority":"P2","subject":"dream/1","summary":"is so","status":"lucid"}],"pages":3}`,
		}
		body, ok := answers[r.URL.Path]
		if !ok || slices.Contains(lacks, r.URL.Path) {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(&api.Error{Kind: api.NotFound, Message: "there is no " + r.URL.Path})
			return
		}
		_, _ = io.WriteString(w, body)
	})
}

// What another version does not know, or tells more, is no silence: the one is said, the other
// left out.
func TestOtherVersions(t *testing.T) {
	newer, _ := answering(t, recorded())
	w := NewWatch(t.Context(), these(newer), nil, func() {})
	await(t, "an answer", func() bool { l, _ := w.Looks(true); return l[0].HostSeen.Status == "ok" })
	list, _ := w.Looks(true)
	if h := list[0]; h.Look.Agents[0].State != "dreaming" || len(h.Alerts) != 1 || h.Says(time.Now()) != "" {
		t.Errorf("%+v", h)
	}
	older, _ := answering(t, recorded("/v1/alerts"))
	w = NewWatch(t.Context(), these(older), nil, func() {})
	await(t, "an answer", func() bool { l, _ := w.Looks(true); return l[0].HostSeen.Status == "ok" })
	list, _ = w.Looks(true)
	if says := list[0].Says(time.Now()); !strings.Contains(says, "another version of Custos, which does not tell: alerts") || list[0].IsSilent() || len(list[0].Look.Agents) != 1 {
		t.Errorf("%q: %+v", says, list[0])
	}
}

// While nobody looks no machine is asked, and no ssh runs; all who look have one.
func TestNobodyLooks(t *testing.T) {
	var asked atomic.Int64
	h, open := answering(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); recorded().ServeHTTP(w, r) }))
	w := NewWatch(t.Context(), these(h), nil, func() {})
	w.every, w.looking = 20*time.Millisecond, 50*time.Millisecond
	release := w.Hold()
	other := w.Hold()
	await(t, "an answer", func() bool { return asked.Load() > 6 })
	if n := open.Load(); n != 1 {
		t.Errorf("there are %d connections", n)
	}
	release()
	release()
	before := asked.Load()
	await(t, "another answer", func() bool { return asked.Load() > before+6 })
	other()
	await(t, "the end of ssh", func() bool { return open.Load() == 0 })
	if list, _ := w.Looks(false); list[0].HostSeen.Status != "pending" {
		t.Errorf("what was known before is taken for what is: %+v", list[0].HostSeen)
	} else if g := list[0].Agents(time.Now()); len(g) != 1 || g[0].State != "unknown" || api.Beyond(list) != "" {
		t.Errorf("what was known before is forgotten: %+v, %q", g, api.Beyond(list))
	}
	await(t, "an answer to who comes again", func() bool { l, _ := w.Looks(false); return l[0].HostSeen.Status == "ok" })
}

// An answer that says what was said before is no change; one that is silent is, once.
func TestWhatIsAChange(t *testing.T) {
	var changes, fails atomic.Int64
	h, _ := answering(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		recorded().ServeHTTP(w, r)
	}))
	w := NewWatch(t.Context(), these(h), nil, func() { changes.Add(1) })
	w.every = 5 * time.Millisecond
	defer w.Hold()()
	several := func() {
		_, from := w.Looks(false)
		await(t, "several answers", func() bool { _, n := w.Looks(false); return n > from+5 })
	}
	several()
	if n := changes.Load(); n != 1 {
		t.Errorf("there were %d changes", n)
	}
	fails.Store(1)
	several()
	list, _ := w.Looks(false)
	if n := changes.Load(); n != 2 || !list[0].IsSilent() || list[0].Agents(time.Now())[0].State != "unknown" {
		t.Errorf("there were %d changes: %+v", n, list[0])
	}
}

// No machine is lent the keys and ports of this one, and no name reaches the shell there that
// it would read otherwise.
func TestWhatSSHIsGiven(t *testing.T) {
	h := Host{Name: "box1", SSH: "ann@box1", Program: "custos"}
	if got := strings.Join(h.argv(), " "); !strings.HasPrefix(got, "ssh -T -a -x -o ClearAllForwardings=yes ") || !strings.HasSuffix(got, " -- ann@box1 custos bridge") {
		t.Errorf("%s", got)
	}
	for name, ok := range map[string]bool{"ann": true, "shop/ann-1": true, "日本": true, "-oProxyCommand=x": false, "a;id": false, "$(id)": false, "a b": false, "a'b": false, "": false, "a\nb": false, "~": false} {
		if argv, err := h.Attach(name); (err == nil) != ok || ok && argv[len(argv)-1] != name {
			t.Errorf("%q: %q, %v", name, argv, err)
		}
	}
}

// One that is reached and does not answer is said, and nothing else is asked of it; one that falls
// silent while it has something to do is given up, and it is in doubt what it did.
func TestReach(t *testing.T) {
	var silent atomic.Bool
	var asked atomic.Int64
	h, _ := answering(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked.Add(1)
			silent.Store(true)
		}
		if silent.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	c, err := h.Reach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	var e *api.Error
	if _, err = c.Order(t.Context(), api.OrderRequest{ID: "o1", Do: "stop", Agent: "ann"}); !errors.As(err, &e) || e.Kind != api.Lost || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := h.Reach(ctx, nil); !api.IsUnreachable(err) || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// Who asks is found out before anything is asked for but a look that anyone may have: an agent is
// said to be one, and where it cannot be told nothing is asked.
func TestWhoAsks(t *testing.T) {
	var said []string
	h, _ := answering(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said = append(said, r.Method+" "+r.Header.Get(api.OnBehalf))
		_, _ = io.WriteString(w, "{}")
	}))
	for _, c := range []struct {
		agent string
		err   error
		want  string
	}{{"", nil, "GET ,GET ,POST "}, {"eve", nil, "GET ,GET eve,POST eve"}, {"", errors.New("it has no terminal"), "GET "}} {
		said = nil
		client := h.Client(func(context.Context) (string, error) { return c.agent, c.err })
		if _, err := client.Agents(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := client.Web(t.Context()); (err != nil) != (c.err != nil) { // who may see the page there
			t.Errorf("%+v: %v", c, err)
		}
		_, err := client.Acknowledge(t.Context(), 1, api.AckOrder{})
		if got := strings.Join(said, ","); got != c.want || (err != nil) != (c.err != nil) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		client.Close()
	}
}

// What is published is asked with its token, anew each time; without it nothing is asked.
func TestWhatIsPublishedIsAskedWithItsToken(t *testing.T) {
	var shownTokens []string
	h, _ := answering(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shownTokens = append(shownTokens, r.Header.Get("Authorization"))
		recorded().ServeHTTP(w, r)
	}))
	dir := strings.Split(os.Getenv("PATH"), ":")[0]
	file := filepath.Join(dir, "token")
	h = Host{Name: "a", Socket: dir + "/s", Token: file}
	c := h.Client(nil)
	defer c.Close()
	if _, err := c.Status(t.Context()); err == nil || len(shownTokens) != 0 {
		t.Errorf("without a token: %v, %q", err, shownTokens)
	}
	for _, token := range []string{"one", "two"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Status(t.Context()); err != nil || shownTokens[len(shownTokens)-1] != "Bearer "+token {
			t.Errorf("%v, %q", err, shownTokens)
		}
	}
	if _, err := h.Attach("ann"); err == nil || strings.HasPrefix(h.Way(), "ssh") {
		t.Errorf("it is gone to by %q", h.Way())
	}
}

// A machine is silent since it was asked in vain, and not since that was given up.
func TestSilentSinceItWasAsked(t *testing.T) {
	w := NewWatch(t.Context(), these(Host{Name: "box"}), nil, func() {})
	asked := time.Now().Add(-6 * time.Second)
	w.keep(w.hosts[0], api.HostLook{}, "no answer within 6s", asked)
	if list, _ := w.Looks(false); !list[0].Silent.Equal(asked) {
		t.Errorf("it is silent since %s, and was asked at %s", list[0].Silent, asked)
	}
}

// these are always the same.
func these(list ...Host) func() []Host { return func() []Host { return list } }
