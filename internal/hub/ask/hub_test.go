package ask

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"custos/internal/hub/protocol"
)

// testBeat is short enough for tests to see hosts die.
const testBeat = 200 * time.Millisecond

// TestMain is the process of a host that answers, too, for tests that kill one.
func TestMain(m *testing.M) {
	url := os.Getenv("CUSTOS_TEST_HUB")
	if url == "" {
		os.Exit(m.Run())
	}
	nc, err := nats.Connect(url, nats.UserInfo("killed", "killed"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ready := func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/begun" {
				fmt.Fprintln(w, "begun")
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
	}
	go func() { // it ends with the test, whatever becomes of that
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, Serve(context.Background(), nc, "killed", ready, Options{Authenticate: believed, Beat: testBeat}))
	os.Exit(1)
}

// hub is a NATS server in which each host may do what it may at a hub of Custos.
type hub struct {
	*natsserver.Server
	opts *natsserver.Options
}

var testHosts = []string{"a", "b", "c", "killed"}

func newHub(t testing.TB) *hub {
	t.Helper()
	o := &natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, MaxPayload: 2 << 20}
	for _, host := range testHosts {
		o.Users = append(o.Users, &natsserver.User{Username: host, Password: host, Permissions: permissions(host)})
	}
	h := &hub{opts: o}
	h.run(t)
	t.Cleanup(func() { h.Shutdown(); h.WaitForShutdown() })
	return h
}

func (h *hub) run(t testing.TB) {
	t.Helper()
	var err error
	if h.Server, err = natsserver.NewServer(h.opts.Clone()); err != nil {
		t.Fatal(err)
	}
	h.Start()
	if !h.ReadyForConnections(10 * time.Second) {
		t.Fatal("the hub did not begin")
	}
}

// permissions are those that the package asks for.
func permissions(host string) *natsserver.Permissions {
	return &natsserver.Permissions{
		Publish:   &natsserver.SubjectPermission{Allow: []string{protocol.AskSubject("*", host)}},
		Subscribe: &natsserver.SubjectPermission{Allow: []string{Listens(host), protocol.InboxPrefix(host) + ".>"}},
		Response:  &natsserver.ResponsePermission{MaxMsgs: 64, Expires: time.Minute},
	}
}

func (h *hub) conn(t testing.TB, host string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(h.ClientURL(), nats.UserInfo(host, host), nats.CustomInboxPrefix(protocol.InboxPrefix(host)), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// believed believes what the subject says, which the hub has checked.
func believed(subject string, _ nats.Header, _ []byte) (string, error) {
	var to, from string
	_, err := fmt.Sscanf(replaceDots(subject), "custos ask %s %s", &to, &from)
	return from, err
}

func replaceDots(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '.' {
			b[i] = ' '
		}
	}
	return string(b)
}

// asks is host a, that asks b with h.
type pair struct {
	hub    *hub
	a, b   *nats.Conn
	asker  *Asker
	to     *Transport
	client *http.Client
	counts *Counts
	stop   func() error // ends Serve, and says what it returned
}

func newPair(t testing.TB, o Options, h http.HandlerFunc) *pair {
	t.Helper()
	p := &pair{hub: newHub(t)}
	p.a, p.b = p.hub.conn(t, "a"), p.hub.conn(t, "b")
	p.counts, p.stop = serveOn(t, p.b, "b", o, h)
	p.asker, p.to = askAt(t, p.a, "a", "b", o.Beat)
	p.client = &http.Client{Transport: p.to}
	return p
}

func serveOn(t testing.TB, nc *nats.Conn, host string, o Options, h http.HandlerFunc) (*Counts, func() error) {
	t.Helper()
	o.Counts = &Counts{}
	if o.Authenticate == nil {
		o.Authenticate = believed
	}
	o.Beat = cmp.Or(o.Beat, testBeat)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, nc, host, func(string) http.Handler { return h }, o) }()
	await(t, "that "+host+" answers", func() bool { return nc.NumSubscriptions() > 0 })
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	stop := func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return o.Counts, stop
}

func askOn(t testing.TB, nc *nats.Conn, from, to string) (*Asker, *Transport) {
	t.Helper()
	return askAt(t, nc, from, to, 0)
}

func askAt(t testing.TB, nc *nats.Conn, from, to string, beat time.Duration) (*Asker, *Transport) {
	t.Helper()
	a, err := NewAsker(nc, from, AskerOptions{Beat: cmp.Or(beat, testBeat)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	tr, err := a.To(to)
	if err != nil {
		t.Fatal(err)
	}
	return a, tr
}

// get asks with GET; the caller closes the body.
func (p *pair) get(t testing.TB, path string) *http.Response {
	t.Helper()
	resp, err := p.client.Get("http://custos" + path)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%s did not come about", what)
		}
	}
}
