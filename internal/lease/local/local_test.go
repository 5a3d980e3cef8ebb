package local

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/lease"
	"custos/internal/lease/leasetest"
	"custos/internal/sys/host"
)

const testTTL = 2 * time.Second

func TestStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	open := func(t testing.TB, h lease.Holder, clock func() fleet.Instant, ttl time.Duration) lease.Store {
		s, err := Open(path, Options{TTL: ttl, Me: h, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	leasetest.Run(t, open, leasetest.Options{TTL: testTTL, AtOnce: 4, Corrupt: func(t testing.TB, key string) {
		write(t, path, "UPDATE leases SET host = '' WHERE key = ?", []byte(key))
	}})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestAFolderThatIsMissing is not made: the file would be shared with nobody where a mount is not there.
func TestAFolderThatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "mount", "leases"), Options{TTL: testTTL, Clock: clock(t)}); err == nil || !strings.Contains(err.Error(), "the same for all who share it") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it made %v, %v", left, err)
	}
}

// TestAFileThatAnybodyMayWrite is not used: its leases are anybody's.
func TestAFileThatAnybodyMayWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	opened(t, path, "a", testTTL, clock(t))
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{TTL: testTTL, Clock: clock(t)}); err == nil || !strings.Contains(err.Error(), "chmod o-w "+path) {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	opened(t, path, "b", testTTL, clock(t)) // a group that shares it
}

// write changes the file beside every store.
func write(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// clock is the machine's.
func clock(t testing.TB) func() fleet.Instant {
	c, err := host.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return func() fleet.Instant {
		m := c.Now()
		return fleet.Instant{Wall: m.Wall, Up: fleet.Duration(m.Up), Boot: m.Boot}
	}
}

// opened is a store of somebody.
func opened(t testing.TB, path, name string, ttl time.Duration, clock func() fleet.Instant) *Store {
	t.Helper()
	s, err := Open(path, Options{TTL: ttl, Me: lease.Holder{Host: name, Run: "1"}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestWhatIsNoFileOfLeases: it is said what it is, and it is as it was.
func TestWhatIsNoFileOfLeases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("these are notes of a person\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	other, newer := filepath.Join(dir, "other"), filepath.Join(dir, "newer")
	if err := makeFile(other); err != nil {
		t.Fatal(err)
	}
	write(t, other, "CREATE TABLE songs (name TEXT)")
	opened(t, newer, "a", testTTL, clock(t)).Close()
	write(t, newer, "PRAGMA user_version = 2")
	for path, want := range map[string]string{text: "it is no database", other: "it is a database of something else", newer: "it is of version 2, and 1 is known"} {
		before, _ := os.ReadFile(path)
		_, err := Open(path, Options{TTL: testTTL, Me: lease.Holder{Host: "a"}, Clock: clock(t)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("it has left %v, %v", left, err)
	}
}

func TestWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("elsewhere", link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "is a named pipe", link: "is a link", dir: "is a folder"} {
		if _, err := Open(path, Options{TTL: testTTL, Clock: clock(t)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	none := func() fleet.Instant { return fleet.Instant{Wall: time.Unix(1, 0)} }
	if _, err := Open(filepath.Join(dir, "x"), Options{TTL: testTTL, Clock: none}); err == nil {
		t.Error("leases are kept though no boot is known")
	}
}

// TestAnotherBoot: what was held when the machine went down is over; epochs go on.
func TestAnotherBoot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	boot := func(name string, up time.Duration) func() fleet.Instant {
		return func() fleet.Instant {
			return fleet.Instant{Wall: time.Unix(1000, 0), Up: fleet.Duration(up), Boot: name}
		}
	}
	before := opened(t, path, "a", time.Hour, boot("first", time.Hour))
	l, err := before.Acquire(t.Context(), "k", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, path, "b", time.Hour, boot("first", 2*time.Hour-1)).Acquire(t.Context(), "k", 0); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("in the last nanosecond of its time: %v", err)
	}
	next, err := opened(t, path, "b", time.Hour, boot("second", time.Minute)).Acquire(t.Context(), "k", 0)
	if err != nil || next.Epoch <= l.Epoch {
		t.Errorf("in the next boot: %+v, %v", next, err)
	}
}

// TestWhatCannotBeReadStays, also when its time is over and another lease is taken: nobody knows
// what it says.
func TestWhatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	a := opened(t, path, "a", testTTL, clock(t))
	warned := make(chan error, 10)
	a.o.Warn = func(err error) { warned <- err }
	for _, set := range []string{"host = ''", "epoch = 0", "token = epoch - 1", "epoch = -1"} {
		l, err := a.Acquire(t.Context(), set, 0)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, "UPDATE leases SET until = 1, "+set+" WHERE key = ?", []byte(set))
		if _, err := a.Acquire(t.Context(), "other "+set, (l.Epoch/sweepEvery+1)*sweepEvery); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Acquire(t.Context(), set, 0); err == nil || errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), strconv.Quote(set)) {
			t.Errorf("with %s, it is asked for: %v", set, err)
		}
		if err := a.Release(t.Context(), l); err == nil {
			t.Errorf("with %s, it is given back", set)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() { _ = a.Watch(ctx, nil, func(lease.Lease) {}) }()
	for range 4 {
		select {
		case err := <-warned:
			if !strings.Contains(err.Error(), "cannot read what is kept of") {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("a watch tells nothing of what it cannot read")
		}
	}
}

// TestWhatIsOverGoes: the file does not grow with every key that was ever held.
func TestWhatIsOverGoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	var up time.Duration
	a := opened(t, path, "a", time.Second, func() fleet.Instant {
		return fleet.Instant{Wall: time.Unix(0, int64(up)), Up: fleet.Duration(up), Boot: "test"}
	})
	for i := range 3 * sweepEvery {
		up += time.Second
		if _, err := a.Acquire(t.Context(), strconv.Itoa(i), 0); err != nil {
			t.Fatal(err)
		}
	}
	var left int
	if err := a.eyes.QueryRow("SELECT count(*) FROM leases").Scan(&left); err != nil || left > sweepEvery {
		t.Errorf("%d leases are kept, %v; one is held", left, err)
	}
}

// TestRemoved: who has the file open that was removed is granted nothing any more.
func TestRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	a := opened(t, path, "a", testTTL, clock(t))
	l, err := a.Acquire(t.Context(), "k", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Renew(t.Context(), l); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("a lease of a file that was removed is renewed: %v", err)
	}
	if _, err := a.Acquire(t.Context(), "other", 0); err == nil || errors.Is(err, lease.ErrHeld) {
		t.Errorf("a lease of a file that was removed is taken: %v", err)
	}
}

// TestTakenForLong: while another process has the file, a context that ends is an end at once.
func TestTakenForLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leases")
	a, b := opened(t, path, "a", testTTL, clock(t)), opened(t, path, "b", testTTL, clock(t))
	err := a.change(t.Context(), func(*tx) error {
		ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer end()
		began := time.Now()
		_, err := b.Acquire(ctx, "k", 0)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lease.ErrHeld) {
			t.Errorf("while another one has the file: %v", err)
		}
		if took := time.Since(began); took > 3*time.Second { // it would be 5 s, which SQLite waits
			t.Errorf("it took %v", took)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(t.Context(), "k", 0); err != nil {
		t.Error(err)
	}
}
