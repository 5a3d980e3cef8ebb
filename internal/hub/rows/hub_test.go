package rows

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// hub is a NATS server with JetStream.
type hub struct {
	*natsserver.Server
	opts *natsserver.Options
}

func newHub(t testing.TB, users ...*natsserver.User) *hub {
	t.Helper()
	h := &hub{opts: &natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(), Users: users}}
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

// restart ends the server, and has another one begin at its address.
func (h *hub) restart(t testing.TB) {
	t.Helper()
	h.opts.Port = h.Addr().(*net.TCPAddr).Port
	h.Shutdown()
	h.WaitForShutdown()
	h.run(t)
}

func (h *hub) js(t testing.TB, o ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(h.ClientURL(), append(o, nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.MaxReconnects(-1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func bucket(t testing.TB, js jetstream.JetStream) jetstream.KeyValue {
	t.Helper()
	kv, err := js.CreateKeyValue(context.Background(), Config(1))
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

// testBeat is short enough for tests.
const testBeat = 100 * time.Millisecond

// publish runs a publisher until the test ends, or what it returns is called.
func publish(t testing.TB, js jetstream.JetStream, host, run string) (*Publisher, func()) {
	t.Helper()
	p, err := NewPublisher(js, PublisherOptions{Host: host, Run: run, Beat: testBeat})
	if err != nil {
		t.Fatal(err)
	}
	p.apart = testBeat
	return p, background(t, p.Run)
}

func background(t testing.TB, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); run(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// testClock is the time since it was made, and what is added to it.
type testClock struct {
	begun time.Time
	add   atomic.Int64
}

func (c *testClock) now() time.Duration { return time.Since(c.begun) + time.Duration(c.add.Load()) }

type watched struct {
	*Board
	clock *testClock
	told  atomic.Int64
}

func newBoard(t testing.TB, js jetstream.JetStream) *watched {
	t.Helper()
	w := &watched{clock: &testClock{begun: time.Now()}}
	b, err := NewBoard(js, BoardOptions{Now: w.clock.now, Changed: func() { w.told.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	w.Board, b.every = b, 2*testBeat
	return w
}

func watch(t testing.TB, js jetstream.JetStream, filter string) *watched {
	t.Helper()
	b := newBoard(t, js)
	background(t, func(ctx context.Context) { b.Watch(ctx, filter) })
	return b
}

// host is what a board knows of one.
func (w *watched) host(name string) Host {
	for _, h := range w.Snapshot().Hosts {
		if h.Name == name {
			return h
		}
	}
	return Host{}
}

// says is a host's rows as one text.
func (h Host) says() string { return fmt.Sprintf("%s", h.Rows) }

func rowsOf(kv ...string) map[string][]byte {
	out := map[string][]byte{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i]] = []byte(kv[i+1])
	}
	return out
}

func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%s did not come about", what)
		}
	}
}
