package wire_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// changes are what OnChange heard.
type changes struct {
	mu   sync.Mutex
	list []wire.Change
}

func (c *changes) hear(ch wire.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, ch)
}

// has says whether something was heard.
func (c *changes) has(is func(wire.Change) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.list {
		if is(ch) {
			return true
		}
	}
	return false
}

func TestWire(t *testing.T) {
	c := hubtest.Start(t, 1)
	t.Run("a hub that hangs", func(t *testing.T) { hangs(t, c) })
	t.Run("not the hub", func(t *testing.T) { notTheHub(t, c) })
	t.Run("before and after the hub", func(t *testing.T) { beforeAndAfter(t, c) })
	t.Run("revoked", func(t *testing.T) { revoked(t, c) })
}

// A hub that hangs, which keeps its connections open, is noticed within 6 seconds, and one that is
// back is found by itself. What was published meanwhile is refused, not sent late.
func hangs(t *testing.T, c *hubtest.Cluster) {
	j := c.Join(t, "a")
	p := newProxy(t, strings.TrimPrefix(j.URLs[0], "tls://"))
	j.URLs = []string{"tls://" + p.Addr().String()}
	var heard changes
	nc := hubtest.Connect(t, j, wire.Options{Name: "a", OnChange: heard.hear})
	hubtest.Eventually(t, time.Second, "it is told of", func() bool { return heard.has(func(c wire.Change) bool { return c.Connected && c.Server == "n0" }) })
	begin := time.Now()
	p.hang(true)
	hubtest.Eventually(t, 7*time.Second, "it is noticed", func() bool { return !nc.IsConnected() })
	if took := time.Since(begin); took > 6200*time.Millisecond {
		t.Errorf("that took %s", took)
	}
	hubtest.Eventually(t, time.Second, "it is told of", func() bool {
		return heard.has(func(c wire.Change) bool { return errors.Is(c.Err, nats.ErrStaleConnection) })
	})
	if err := nc.Publish(protocol.AskSubject("b", "a"), nil); err == nil {
		t.Error("what is published while there is no hub is kept")
	}
	p.hang(false)
	hubtest.Eventually(t, 15*time.Second, "it is connected again", nc.IsConnected)
}

// Who does not have the certificate of the hub is not spoken with.
func notTheHub(t *testing.T, c *hubtest.Cluster) {
	other := hubtest.Start(t, 1)
	j := c.Join(t, "b")
	j.URLs = other.URLs()
	if nc, err := wire.Once(j.URLs, j.CA, j.Creds, ""); err == nil || !strings.Contains(err.Error(), "certificate") {
		nc.Close()
		t.Errorf("%v", err)
	}
	_, err := wire.Connect(credential.Joined{Host: "a"}, wire.Options{})
	if err == nil {
		t.Error("there may be nothing to connect with")
	}
}

// Connect does not need the hub, and comes back after it was away.
func beforeAndAfter(t *testing.T, c *hubtest.Cluster) {
	j := c.Join(t, "c")
	c.Stop(0)
	nc, err := wire.Connect(j, wire.Options{})
	if err != nil || nc.IsConnected() {
		t.Fatal(err)
	}
	defer nc.Close()
	c.Restart(0)
	hubtest.Eventually(t, 15*time.Second, "it is connected", nc.IsConnected)
	c.WaitReady(0)
}

// A host that is revoked is told so, keeps asking, and what it is told has no secret.
func revoked(t *testing.T, c *hubtest.Cluster) {
	j := c.Join(t, "d")
	var heard changes
	nc := hubtest.Connect(t, j, wire.Options{OnChange: heard.hear})
	c.Revoke(t, "d")
	hubtest.Eventually(t, 5*time.Second, "it is told that it is not let in", func() bool {
		return heard.has(func(c wire.Change) bool { return errors.Is(c.Err, nats.ErrAuthorization) })
	})
	if nc.IsClosed() {
		t.Error("it has given up")
	}
	if heard.has(func(c wire.Change) bool {
		return c.Err != nil && (strings.Contains(c.Err.Error(), "eyJ") || strings.Contains(c.Err.Error(), "SU"))
	}) {
		t.Error("it is told a secret")
	}
}

// proxy hands connections on to a server, until it hangs: then it reads and writes nothing.
type proxy struct {
	net.Listener
	to string
	mu sync.RWMutex // locked while it hangs
	on bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	t.Cleanup(func() {
		p.hang(false)
		_ = l.Close()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) hang(on bool) {
	if on == p.on {
		return
	}
	if p.on = on; on {
		p.mu.Lock()
	} else {
		p.mu.Unlock()
	}
}

func (p *proxy) serve(c net.Conn) {
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = c.Close()
		return
	}
	go p.pass(c, s)
	p.pass(s, c)
}

func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.RLock() // waits while it hangs
		if n > 0 {
			_, _ = to.Write(b[:n])
		}
		p.mu.RUnlock()
		if err == io.EOF || err != nil {
			return
		}
	}
}
