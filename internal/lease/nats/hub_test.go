package nats

import (
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/wire"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

// TestStoreOfAHub: on a hub of three nodes, with what a host may do there and no more.
func TestStoreOfAHub(t *testing.T) {
	hub := hubtest.Start(t, 3)
	var mu sync.Mutex
	joined := map[string]credential.Joined{}
	join := func(t *testing.T, host string) credential.Joined {
		mu.Lock()
		defer mu.Unlock()
		if _, is := joined[host]; !is {
			joined[host] = hub.Join(t, host)
		}
		return joined[host]
	}
	open := func(t *testing.T, h lease.Holder, clock func() fleet.Instant) lease.Store {
		js, err := jetstream.New(hubtest.Connect(t, join(t, "host-"+h.Host), wire.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		return New(js, Options{TTL: testTTL, Me: h, Clock: clock})
	}
	admin, err := jetstream.New(hub.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	leasetest.Run(t, open, leasetest.Options{TTL: testTTL, OwnClocks: true, Corrupt: corrupt(admin)})
}
