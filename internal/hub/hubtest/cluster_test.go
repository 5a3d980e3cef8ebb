package hubtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// TestCluster are the tests that need three nodes, one after the other: each leaves all of them up.
func TestCluster(t *testing.T) {
	c := hubtest.Start(t, 3)
	t.Run("buckets", func(t *testing.T) { buckets(t, c) })
	t.Run("revoked while a node is down", func(t *testing.T) { revokedWhileDown(t, c) })
}

// Every bucket is kept by three nodes and has a leader.
func buckets(t *testing.T, c *hubtest.Cluster) {
	js, err := jetstream.New(c.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	for bucket, leader := range c.Leaders() {
		s, err := js.Stream(t.Context(), protocol.Stream(bucket))
		if err != nil {
			t.Fatal(err)
		}
		config := s.CachedInfo().Config
		if memory := config.Storage == jetstream.MemoryStorage; config.Replicas != 3 || leader < 0 || memory != (bucket == protocol.Fleet) {
			t.Errorf("%s: %d replicas, %s, led by %d", bucket, config.Replicas, config.Storage, leader)
		}
	}
}

// A host that is revoked is thrown out of each node, and a node that was down refuses it when it
// is back. The host that has its name now goes on.
func revokedWhileDown(t *testing.T, c *hubtest.Cluster) {
	gone := c.Join(t, "gone")
	var conns []*nats.Conn
	for _, u := range c.URLs() {
		one := gone
		one.URLs = []string{u}
		conns = append(conns, hubtest.Connect(t, one, wire.Options{}))
	}
	if _, err := hubtest.Bucket(t, conns[0], protocol.Fleet).Put(t.Context(), "gone.x", []byte("x")); err != nil {
		t.Fatal(err)
	}
	c.Stop(2)
	if a := c.Revoke(t, "gone"); a.Host.Revoked.IsZero() || len(a.Nodes) != 2 {
		t.Errorf("revoked: %+v", a)
	}
	out := func() bool { return !conns[0].IsConnected() && !conns[1].IsConnected() }
	hubtest.Eventually(t, 2*time.Second, "the host is thrown out", out)
	if _, err := hubtest.Bucket(t, c.Admin(t), protocol.Fleet).Get(t.Context(), "gone.x"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("what it told is still there: %v", err)
	}
	c.Restart(2)
	c.WaitReady(2)
	again := hubtest.Connect(t, c.Join(t, "gone"), wire.Options{})
	hubtest.Eventually(t, 5*time.Second, "the node that was down refuses it", func() bool { return refuses(t, gone.URLs[2], gone.CA, gone.Creds) })
	if !out() || !refuses(t, gone.URLs[0], gone.CA, gone.Creds) || !refuses(t, gone.URLs[1], gone.CA, gone.Creds) {
		t.Error("the host came back")
	}
	if !again.IsConnected() {
		t.Error("the host that has its name now is thrown out")
	}
}

// refuses says whether a node does not let in who has these credentials.
func refuses(t *testing.T, url string, ca, creds []byte) bool {
	t.Helper()
	nc, err := wire.Once([]string{url}, ca, creds, "")
	if err == nil {
		nc.Close()
	}
	return errors.Is(err, nats.ErrAuthorization)
}
