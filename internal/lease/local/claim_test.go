package local

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "leases"), clock(t)
	open := func(t testing.TB, h lease.Holder) lease.Claims {
		s, err := Open(path, Options{TTL: testTTL, Me: h, Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	leasetest.RunClaims(t, open, func(t testing.TB, key string) {
		write(t, path, "INSERT INTO claims (key, host, run, at) VALUES (?, '', '', 0)", []byte(key))
	})
}

// TestClaimsThatAreForgotten: those that are old and far from the newest, and none besides: neither as there are many,
// nor as the clock of whoever claims says that all of them are old.
func TestClaimsThatAreForgotten(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "leases"), clock(t)
	var ahead time.Duration
	s := opened(t, path, "a", testTTL, func() fleet.Instant { at := now(); at.Wall = at.Wall.Add(ahead); return at })
	claim := func(key string) {
		t.Helper()
		if _, err := s.Claim(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (n int) {
		t.Helper()
		if err := s.hand.QueryRow("SELECT count(*) FROM claims WHERE CAST(key AS TEXT) LIKE 'old%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range 3 {
		claim(fmt.Sprint("old ", i))
	}
	ahead = 365 * 24 * time.Hour
	claim("next year")
	if n := kept(); n != 3 {
		t.Errorf("of 3 claims %d are there when a clock is ahead", n)
	}
	ahead = 0
	many := fmt.Sprintf("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < %d) INSERT INTO claims (key, host, run, at) SELECT CAST('many ' || n AS BLOB), 'a', '1', 0 FROM c", keepNewest)
	write(t, path, many)
	claim("today")
	if n := kept(); n != 3 {
		t.Errorf("of 3 claims of this day %d are there when there are many", n)
	}
	ahead = keepClaims + time.Hour
	claim("in a month")
	if n := kept(); n != 0 {
		t.Errorf("%d claims are there after a month and many others", n)
	}
}

// TestABeginThatIsNotWaitedFor: whoever gives up waiting just as the file is had leaves no transaction behind, in which
// everything after it would fail.
func TestABeginThatIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := opened(t, filepath.Join(t.TempDir(), "leases"), "a", testTTL, clock(t))
	for i := range 600 {
		ctx, end := context.WithTimeout(t.Context(), time.Duration(i%300)*time.Microsecond)
		tx, err := s.tryBegin(ctx)
		if err == nil {
			_, err = tx.conn.ExecContext(t.Context(), "ROLLBACK")
			tx.conn.Close()
		}
		end()
		if _, err := s.Claim(t.Context(), "k"); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
}
