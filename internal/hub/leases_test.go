package hub_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// TestARevokedHostKeepsNoLease: those that it holds end with it, also such as it wrote without an end, and what is no lease at all;
// those of others stay.
func TestARevokedHostKeepsNoLease(t *testing.T) {
	t.Parallel()
	c := hubtest.Start(t, 1)
	bad, good := hubtest.Connect(t, c.Join(t, "bad"), wire.Options{}), hubtest.Connect(t, c.Join(t, "good"), wire.Options{})
	put := func(kv jetstream.KeyValue, key, value string) {
		if _, err := kv.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	put(hubtest.Bucket(t, bad, protocol.Leases), "a", `{"v":1,"holder":{"host":"bad","run":"1"}}`)
	put(hubtest.Bucket(t, bad, protocol.Leases), "b", `garbage`)
	kv := hubtest.Bucket(t, good, protocol.Leases)
	put(kv, "c", `{"v":1,"holder":{"host":"good","run":"1"}}`)
	put(kv, "d", `{"v":1,"base":7}`)
	c.Revoke(t, "bad")
	for key, stays := range map[string]bool{"a": false, "b": false, "c": true, "d": true} {
		if _, err := kv.Get(t.Context(), key); (err == nil) != stays || err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestOneNodeOfAFolder: a second one says at once that there is one.
func TestOneNodeOfAFolder(t *testing.T) {
	t.Parallel()
	c := hubtest.Start(t, 1)
	began := time.Now()
	if _, err := hub.Start(t.Context(), c.Dirs[0], hub.Options{}); err == nil || !strings.Contains(err.Error(), "another custos-hub runs") || time.Since(began) > 2*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	c.Stop(0)
	c.Restart(0)
	c.WaitReady(0)
}
