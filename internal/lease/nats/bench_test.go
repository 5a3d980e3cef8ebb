package nats

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// each runs a benchmark on one and on three servers, which write to the disk before they answer, or not.
func each(b *testing.B, run func(*testing.B, *Store)) {
	for _, sync := range []bool{false, true} {
		with := func(o *server.Options) { o.SyncAlways = sync }
		b.Run(fmt.Sprintf("one/sync=%t", sync), func(b *testing.B) {
			o := options(b.TempDir())
			with(o)
			js := dial(b, start(b, o).ClientURL(), admin)
			bucket(b, js, 1)
			run(b, benched(js))
		})
		b.Run(fmt.Sprintf("three/sync=%t", sync), func(b *testing.B) {
			_, js := newCluster(b, with)
			run(b, benched(js))
		})
	}
}

func benched(js jetstream.JetStream) *Store { return host(js, "a", time.Hour, 10*time.Second) }

func BenchmarkAcquire(b *testing.B) {
	each(b, func(b *testing.B, s *Store) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Acquire(b.Context(), fmt.Sprint("key ", i), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRenew(b *testing.B) {
	each(b, func(b *testing.B, s *Store) {
		l, err := s.Acquire(b.Context(), "k", 0)
		for b.Loop() {
			if l, err = s.Renew(b.Context(), l); err != nil {
				b.Fatal(err)
			}
		}
	})
}
