package nats

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

// TestNodes: a hub takes its time to begin, in which three servers can be asked.
func TestNodes(t *testing.T) {
	t.Parallel()
	beside(t, map[string]func(*testing.T){"three servers": threeServers, "a hub": storeOfAHub})
}

func threeServers(t *testing.T) {
	c, js := newCluster(t, nil)
	leasetest.Run(t, opener(dial(t, c.urls(), daemon)), leasetest.Options{TTL: testTTL, OwnClocks: true, Corrupt: corrupt(js), Lived: 5})
}

// historiesWhileServersFail: the leader of the bucket steps down, is stopped, and comes back
// with half of what it had; no two rely on a lease through all of that.
func historiesWhileServersFail(t *testing.T) {
	c, _ := newCluster(t, nil)
	var conns []jetstream.JetStream
	for range 3 {
		conns = append(conns, dial(t, c.urls(), daemon))
	}
	var opened atomic.Int64
	open := func(t testing.TB, h lease.Holder, clock func() fleet.Instant, ttl time.Duration) lease.Store {
		return New(conns[opened.Add(1)%3], Options{TTL: ttl, Me: h, Clock: clock, Wait: time.Second})
	}
	leasetest.Histories(t, open, leasetest.Options{TTL: testTTL, OwnClocks: true, For: chaosFor(t), During: c.fail})
}

// chaosFor is how long servers fail: CUSTOS_LEASES_FOR, or for as long as a test may take.
func chaosFor(t *testing.T) time.Duration {
	d, err := time.ParseDuration(os.Getenv("CUSTOS_LEASES_FOR"))
	if err != nil {
		return 4 * time.Second
	}
	return d
}

// fail has one thing after the other befall the leader.
func (c *cluster) fail(ctx context.Context, t testing.TB) {
	for n := 0; ctx.Err() == nil; n++ {
		leader := c.led(ctx)
		if leader < 0 {
			return
		}
		switch n % 3 {
		case 0:
			if err := c.up[leader].JetStreamStepdownStream(server.DEFAULT_GLOBAL_ACCOUNT, "KV_"+Bucket); err != nil {
				t.Log(err)
			}
		case 1:
			c.stop(leader)
			t.Logf("the leader, %d, was stopped", leader)
			c.start(leader)
		case 2:
			c.stop(leader)
			t.Logf("the leader, %d, was stopped, and has lost half of %d files", leader, c.halve(t, leader))
			c.start(leader)
		}
	}
}

// halve cuts the messages and the log of a server that is down in half, and says of how many files.
func (c *cluster) halve(t testing.TB, i int) (n int) {
	err := filepath.WalkDir(c.nodes[i].StoreDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".blk") || !strings.Contains(path, Bucket) && !strings.Contains(path, "S-R3F") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n++
		return os.Truncate(path, info.Size()/2)
	})
	if err != nil || n == 0 {
		t.Errorf("%d files were cut: %v", n, err)
	}
	return n
}

// nothingIsGrantedWithoutAQuorum: of three servers, the leader is left. Who asks is told within
// its time that it is not known; when the others are back, all goes on.
func nothingIsGrantedWithoutAQuorum(t *testing.T) {
	c, _ := newCluster(t, nil)
	leader := c.led(t.Context())
	js := dial(t, c.up[leader].ClientURL(), daemon)
	const wait = 500 * time.Millisecond
	a, b := host(js, "a", time.Minute, wait), host(js, "b", testTTL, wait)
	l, err := a.Acquire(t.Context(), "held", 0)
	for end := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(end); {
		l, err = a.Acquire(t.Context(), "held", 0) // it waits for its answer, and that is not long
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.nodes {
		if i != leader {
			c.stop(i)
		}
	}
	unknown := func(what string, ask func() error) {
		began := time.Now()
		err := ask()
		if took := time.Since(began); took > wait+2*time.Second { // less than it takes where nothing is said of it
			t.Errorf("%s took %v", what, took)
		}
		if err == nil || errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost) {
			t.Errorf("%s, without a quorum: %v", what, err)
		}
	}
	unknown("renew", func() error { _, err := a.Renew(t.Context(), l); return err })
	unknown("renew, while that is on its way", func() error { _, err := a.Renew(t.Context(), l); return err })
	unknown("release, while that is on its way", func() error { return a.Release(t.Context(), l) })
	unknown("acquire what is free", func() error { _, err := b.Acquire(t.Context(), "free", 0); return err })
	unknown("acquire what another one asked for", func() error { _, err := a.Acquire(t.Context(), "free", 0); return err })
	for i := range c.nodes {
		if i != leader {
			c.start(i)
		}
	}
	goesOn(t, b, l)
}

// goesOn waits until a store grants leases again, of larger epochs than one before; what was on its
// way meanwhile may have been done, or not.
func goesOn(t *testing.T, b *Store, before lease.Lease) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		next, err := b.Acquire(t.Context(), "new", 0)
		if err == nil && next.Epoch <= before.Epoch {
			t.Errorf("%+v follows %+v", next, before)
		}
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if got, err := b.Acquire(t.Context(), before.Key, 0); err == nil && got.Epoch <= before.Epoch {
		t.Errorf("%+v follows %+v", got, before)
	}
}

// host is one with a clock of the test.
func host(js jetstream.JetStream, name string, ttl, wait time.Duration) *Store {
	began := time.Now()
	return New(js, Options{TTL: ttl, Me: lease.Holder{Host: name, Run: "1"}, Wait: wait, Clock: func() fleet.Instant {
		up := time.Since(began)
		return fleet.Instant{Wall: began.Add(up), Up: fleet.Duration(up + time.Hour), Boot: "test"}
	}})
}
