// Package hubtest runs hubs for tests: in this process, or as processes that may be killed. All
// listen on 127.0.0.1, and end with the test.
package hubtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub"
	"custos/internal/hub/credential"
	"custos/internal/hub/folder"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// readyWithin is how long a cluster may take until its buckets are there.
const readyWithin = 60 * time.Second

// Cluster is a hub of some nodes in this process.
type Cluster struct {
	Dirs []string // of the nodes
	t    testing.TB
	log  io.Writer
	mu   sync.Mutex
	hubs []*hub.Hub // nil where a node is stopped
}

// Start starts a hub of some nodes, and returns when its buckets are there.
func Start(t testing.TB, nodes int) *Cluster { return StartLogged(t, nodes, nil) }

// StartLogged is Start with what the nodes write.
func StartLogged(t testing.TB, nodes int, log io.Writer) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Dirs: Init(t, nodes), hubs: make([]*hub.Hub, nodes), log: log}
	t.Cleanup(c.stopAll)
	for i := range nodes {
		c.Restart(i)
	}
	for i := range nodes {
		c.WaitReady(i)
	}
	return c
}

// Init makes the folders of a hub whose nodes listen on free ports of loopback.
func Init(t testing.TB, nodes int) (dirs []string) {
	t.Helper()
	var made []folder.Node
	ports := freePorts(t, 2*nodes)
	for i := range nodes {
		made = append(made, folder.Node{Name: fmt.Sprintf("n%d", i), Addresses: []string{fmt.Sprintf("127.0.0.1:%d", ports[2*i])}, ClusterPort: ports[2*i+1]})
	}
	dirs, err := folder.Init(filepath.Join(t.TempDir(), "hub"), made, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// freePorts are ports of loopback on which nobody listened just now. They are known beforehand, as
// nodes have to know each other's, and the same after a restart.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// Hub is a node that runs; nil where it is stopped.
func (c *Cluster) Hub(node int) *hub.Hub {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hubs[node]
}

// Stop ends a node, orderly. Its folder stays.
func (c *Cluster) Stop(node int) {
	c.mu.Lock()
	h := c.hubs[node]
	c.hubs[node] = nil
	c.mu.Unlock()
	if h != nil {
		h.Stop()
	}
}

// Restart starts a node that is stopped; see WaitReady.
func (c *Cluster) Restart(node int) {
	c.t.Helper()
	h, err := hub.Start(context.Background(), c.Dirs[node], hub.Options{Log: c.log})
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hubs[node] = h
}

// WaitReady waits until the buckets of a node are there.
func (c *Cluster) WaitReady(node int) {
	c.t.Helper()
	select {
	case <-c.Hub(node).Ready():
	case <-time.After(readyWithin):
		c.t.Fatalf("node %d has no buckets after %s", node, readyWithin)
	}
}

func (c *Cluster) stopAll() {
	var all sync.WaitGroup
	for i := range c.hubs {
		all.Go(func() { c.Stop(i) })
	}
	all.Wait()
}

// URLs are where hosts reach it.
func (c *Cluster) URLs() []string { return urls(c.t, c.Dirs[0]) }

func urls(t testing.TB, dir string) []string { return read(t, dir).URLs }

func read(t testing.TB, dir string) folder.Folder {
	t.Helper()
	f, err := folder.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Leaders are the node that leads each bucket; -1 where none does.
func (c *Cluster) Leaders() map[string]int {
	out := map[string]int{}
	for _, bucket := range append(protocol.Readable(), protocol.Invites) {
		out[bucket] = -1
		for i := range c.hubs {
			if h := c.Hub(i); h != nil && h.Leads(bucket) {
				out[bucket] = i
			}
		}
	}
	return out
}

// Admin is a connection of the hub itself, in the account of the buckets.
func (c *Cluster) Admin(t testing.TB) *nats.Conn { return admin(t, c.Dirs[0]) }

// Invite makes a token for a host.
func (c *Cluster) Invite(t testing.TB, q protocol.Invite) credential.Token {
	t.Helper()
	return invite(t, c.Dirs[0], q)
}

// Join has a host join: as often as is asked, as it replaces the one of before.
func (c *Cluster) Join(t testing.TB, host string) credential.Joined {
	t.Helper()
	return joinHub(t, c.Dirs[0], host)
}

// Revoke revokes a host.
func (c *Cluster) Revoke(t testing.TB, host string) protocol.Revoked {
	t.Helper()
	return revoke(t, c.Dirs[0], host)
}

func admin(t testing.TB, dir string) *nats.Conn {
	t.Helper()
	f := read(t, dir)
	nc, err := wire.Once(f.URLs, f.CA, f.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func invite(t testing.TB, dir string, q protocol.Invite) credential.Token {
	t.Helper()
	nc := admin(t, dir)
	defer nc.Close()
	var a protocol.Invited
	if err := wire.Ask(t.Context(), nc, protocol.InviteSubject, q, &a); err != nil || a.Kind != "" {
		t.Fatalf("cannot invite %s: %v %s", q.Host, err, a.Why)
	}
	token, err := credential.ReadToken(a.Token)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func joinHub(t testing.TB, dir, host string) credential.Joined {
	t.Helper()
	j, err := wire.Join(t.Context(), invite(t, dir, protocol.Invite{Host: host, For: time.Hour, Replace: true}))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func revoke(t testing.TB, dir, host string) (a protocol.Revoked) {
	t.Helper()
	nc := admin(t, dir)
	defer nc.Close()
	if err := wire.Ask(t.Context(), nc, protocol.RevokeSubject, protocol.Revoke{Host: host}, &a); err != nil || a.Kind != "" {
		t.Fatalf("cannot revoke %s: %v %s", host, err, a.Why)
	}
	return a
}

// Connect connects a host that has joined, and waits until it is.
func Connect(t testing.TB, j credential.Joined, o wire.Options) *nats.Conn {
	t.Helper()
	nc, err := wire.Connect(j, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	Eventually(t, 15*time.Second, "the host is connected", nc.IsConnected)
	return nc
}

// Bucket opens a bucket by a connection.
func Bucket(t testing.TB, nc *nats.Conn, name string) jetstream.KeyValue {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), name)
	if err != nil {
		t.Fatalf("cannot open %s: %v", name, err)
	}
	return kv
}

// Eventually waits until something is so.
func Eventually(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(within); !is(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}
