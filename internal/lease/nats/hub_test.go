package nats

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/wire"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

// storeOfAHub: on a hub of three nodes, with what a host may do there and no more: each thing that a store
// asks of its servers. All that a store must do is asked of threeServers, which write to the disk less
// often.
func storeOfAHub(t *testing.T) {
	hub := hubtest.Start(t, 3)
	var mu sync.Mutex
	joined := map[string]credential.Joined{}
	join := func(t testing.TB, host string) credential.Joined {
		mu.Lock()
		defer mu.Unlock()
		if _, is := joined[host]; !is {
			joined[host] = hub.Join(t, host)
		}
		return joined[host]
	}
	open := func(t testing.TB, h lease.Holder, clock func() fleet.Instant, ttl time.Duration) lease.Store {
		js, err := jetstream.New(hubtest.Connect(t, join(t, "host-"+h.Host), wire.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		return New(js, Options{TTL: ttl, Me: h, Clock: clock})
	}
	admin, err := jetstream.New(hub.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	leasetest.Run(t, open, leasetest.Options{TTL: testTTL, OwnClocks: true, Corrupt: corrupt(admin),
		Only: []string{"held", "held by oneself", "given back late", "floor of what ended", "told from the start", "told of its end", "unreadable"}})
}
