package wire_test

import (
	"errors"
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

// A hub that hangs, which keeps its connections open, is noticed by who checks, and one that is back is found by
// itself. What was published meanwhile is refused, not sent late.
func hangs(t *testing.T, c *hubtest.Cluster) {
	j := c.Join(t, "a")
	p := hubtest.NewProxy(t, strings.TrimPrefix(j.URLs[0], "tls://"))
	j.URLs = []string{"tls://" + p.Addr().String()}
	var heard changes
	nc := hubtest.Connect(t, j, wire.Options{Name: "a", OnChange: heard.hear})
	hubtest.Eventually(t, time.Second, "it is told of", func() bool { return heard.has(func(c wire.Change) bool { return c.Connected && c.Server == "n0" }) })
	if wire.Check(nc); !nc.IsConnected() || nc.Stats().Reconnects != 0 {
		t.Error("a node that answers was left")
	}
	begin := time.Now()
	p.Hang(true)
	wire.Check(nc)
	if took := time.Since(begin); took > 2500*time.Millisecond || nc.IsConnected() {
		t.Errorf("that took %s, and is it connected: %v", took, nc.IsConnected())
	}
	hubtest.Eventually(t, time.Second, "it is told of", func() bool { return heard.has(func(c wire.Change) bool { return !c.Connected }) })
	if err := nc.Publish(protocol.AskSubject("b", "a"), nil); err == nil {
		t.Error("what is published while there is no hub is kept")
	}
	p.Hang(false)
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
