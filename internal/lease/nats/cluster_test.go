package nats

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// cluster is three servers that share the bucket.
type cluster struct {
	t     testing.TB
	nodes []*server.Options
	up    []*server.Server // nil: it is down
}

// newCluster starts three servers and makes the bucket on all of them.
func newCluster(t testing.TB, each func(*server.Options)) (*cluster, jetstream.JetStream) {
	c := &cluster{t: t, up: make([]*server.Server, 3)}
	routes := make([]*url.URL, 3)
	for i := range routes {
		routes[i] = &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", freePort(t))}
	}
	for i, at := range routes {
		o := options(t.TempDir())
		o.Port = freePort(t) // the same one when it is started again
		o.ServerName = fmt.Sprintf("n%d", i)
		o.Routes = routes
		o.Cluster.Name, o.Cluster.Host = "test", "127.0.0.1"
		if _, err := fmt.Sscan(at.Port(), &o.Cluster.Port); err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each(o)
		}
		c.nodes = append(c.nodes, o)
		c.start(i)
	}
	js := dial(t, c.urls(), admin)
	bucket(t, js, 3)
	return c, js
}

// freePort is one that nobody listened on a moment ago: servers of a cluster have to be told of the
// ports of the others before those are there.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *cluster) urls() string {
	var all []string
	for _, o := range c.nodes {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

func (c *cluster) start(i int) { c.up[i] = start(c.t, c.nodes[i].Clone()) }

func (c *cluster) stop(i int) {
	c.up[i].Shutdown()
	c.up[i].WaitForShutdown()
	c.up[i] = nil
}

// leader is the node that leads the bucket; -1: none does.
func (c *cluster) leader() int {
	for i, s := range c.up {
		if s != nil && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, "KV_"+Bucket) {
			return i
		}
	}
	return -1
}

// led waits until a node leads the bucket, and all that are up have all of it.
func (c *cluster) led(ctx context.Context) int {
	for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		if i := c.leader(); i >= 0 && c.current() {
			return i
		}
	}
	return -1
}

func (c *cluster) current() bool {
	for _, s := range c.up {
		if s != nil && !s.JetStreamIsStreamCurrent(server.DEFAULT_GLOBAL_ACCOUNT, "KV_"+Bucket) {
			return false
		}
	}
	return true
}
