package local

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

func BenchmarkAcquire(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "leases"), "a", time.Hour, clock(b))
	for i := 0; b.Loop(); i++ {
		if _, err := s.Acquire(b.Context(), fmt.Sprint("key ", i), 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRenew(b *testing.B) {
	s := opened(b, filepath.Join(b.TempDir(), "leases"), "a", time.Hour, clock(b))
	l, err := s.Acquire(b.Context(), "k", 0)
	for b.Loop() {
		if l, err = s.Renew(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
}
