// Package local keeps leases, and claims, of several daemons of one machine (containers that share a folder) in
// a file of SQLite. Every change is one transaction that holds the file alone, whichever process it
// is of.
//
// The end of a lease is written as a boot and a moment of CLOCK_BOOTTIME, which all processes of one
// boot of a kernel have in common: a lease of another boot is over, and no clock that is set counts.
// So it is no place for two machines, which would take each other's leases for over, nor for
// containers with time namespaces of their own (time_namespaces(7)), whose CLOCK_BOOTTIME differs.
//
// There is no write-ahead log: it needs memory that is shared through the folder's file system,
// which not every one that containers share can do (sqlite.org/wal.html).
package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"custos/internal/fleet"
	"custos/internal/lease"
	"custos/internal/sys/files"
)

const (
	// patience is how long a call waits for other processes: as long as store's own does.
	patience = 5 * time.Second
	// sweepEvery is after how many changes what is over is taken out of the file.
	sweepEvery = 64
	// mostFloor is the largest epoch that may be asked for; SQLite counts to twice that.
	mostFloor = 1 << 62
)

// Options say which leases a Store keeps, and for whom.
type Options struct {
	TTL   time.Duration        // how long a lease lasts
	Me    lease.Holder         // who takes leases
	Clock func() fleet.Instant // of this machine: it has to know the boot and CLOCK_BOOTTIME
	// Warn is told of what was set aside, as an error that names it. It must not wait. nil: nobody is.
	Warn func(error)
}

// Store keeps leases in a file, as lease.Store says. It is safe for concurrent use.
type Store struct {
	path string
	hand *sql.DB // of one connection, which changes things
	eyes *sql.DB // of one connection for each who watches
	o    Options
}

// Open opens the file of the leases, and makes it where there is none: for our user alone. Its folder has to
// be there: where what is shared is not mounted, one that is made would be shared with nobody. What is there and is no file of leases is an error, and stays as it is.
func Open(path string, o Options) (*Store, error) {
	if o.Clock().Boot == "" {
		return nil, fmt.Errorf("cannot keep leases in %s: it is not known which boot of the kernel this is", path)
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	s, err := open(path, o)
	if err != nil {
		return nil, fmt.Errorf("cannot open the leases in %s: %w", path, err)
	}
	return s, nil
}

func open(path string, o Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		err = makeFile(abs)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{path: abs, o: o}
	if s.hand, err = sql.Open("sqlite", dsn(abs, 0, "synchronous(FULL)", "journal_mode(TRUNCATE)")); err != nil {
		return nil, err
	}
	if s.eyes, err = sql.Open("sqlite", dsn(abs, poll/2, "query_only(1)")); err != nil {
		return nil, errors.Join(err, s.hand.Close())
	}
	s.hand.SetMaxOpenConns(1)
	s.eyes.SetMaxIdleConns(0) // what changed is told to a connection that has been there before
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the file. Leases that are held go on until their time is over.
func (s *Store) Close() error { return errors.Join(s.hand.Close(), s.eyes.Close()) }

// dsn is how the file is opened, which is there already. busy is how long SQLite itself waits for
// other processes, whatever becomes of a context meanwhile.
func dsn(path string, busy time.Duration, pragmas ...string) string {
	q := url.Values{"mode": {"rw"}, "_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// makeFile makes an empty file where there is none, which SQLite takes for an empty database. No
// file of that name is ever opened here: to close one drops the locks that another Store of this
// process has on it (fcntl(2), and sqlite.org/howtocorrupt.html, 2.2).
func makeFile(path string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil { // made here, it would be in the place of a mount that is missing
		return fmt.Errorf("its folder is to be there, the same for all who share it: %w", err)
	}
	if err := files.Plain(path); err != nil {
		return err
	}
	if is, err := os.Lstat(path); err == nil {
		if is.Mode().Perm()&0o002 != 0 {
			return fmt.Errorf("whoever is on this machine may take leases in it: chmod o-w %s", path)
		}
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, os.ErrExist) { // another one may be quicker
		return err
	}
	return nil
}

// Acquire takes a lease that nobody holds, as lease.Store says. Of a row that cannot be read it
// returns an error that names the key, and leaves it as it is.
func (s *Store) Acquire(ctx context.Context, key string, floor uint64) (lease.Lease, error) {
	if floor > mostFloor {
		return lease.Lease{}, fmt.Errorf("cannot acquire the lease of %q by an epoch of %d or more: %d at most", key, floor, uint64(mostFloor))
	}
	if err := lease.CheckKey(key); err != nil {
		return lease.Lease{}, err
	}
	sent := s.o.Clock()
	var out lease.Lease
	err := s.change(ctx, func(t *tx) error {
		r, err := t.row(key)
		if err != nil {
			return err
		}
		if now := s.o.Clock(); r.held(now) {
			out = r.lease(now)
			return lease.ErrHeld
		}
		n, err := t.count(floor)
		if err != nil {
			return err
		}
		out = lease.Lease{Key: key, Holder: s.o.Me, Epoch: n, Token: n, Until: sent.Add(s.o.TTL)}
		if n%sweepEvery == 0 {
			err = t.sweep(s.o.Clock())
		}
		return errors.Join(err, t.write(out))
	})
	if err != nil && !errors.Is(err, lease.ErrHeld) {
		out = lease.Lease{}
	}
	return out, failed("acquire", key, err)
}

// Renew has a lease last for its whole time again, as lease.Store says.
func (s *Store) Renew(ctx context.Context, l lease.Lease) (lease.Lease, error) {
	sent := s.o.Clock()
	err := s.change(ctx, func(t *tx) error {
		r, err := t.row(l.Key)
		if err != nil {
			return err
		}
		if !r.is(l, s.o.Me) || !r.held(s.o.Clock()) {
			return lease.ErrLost
		}
		if l.Token, err = t.count(0); err != nil {
			return err
		}
		l.Epoch, l.Until = uint64(r.epoch), sent.Add(s.o.TTL)
		return t.write(l)
	})
	if err != nil {
		return lease.Lease{}, failed("renew", l.Key, err)
	}
	return l, nil
}

// Release gives a lease back, as lease.Store says.
func (s *Store) Release(ctx context.Context, l lease.Lease) error {
	err := s.change(ctx, func(t *tx) error {
		r, err := t.row(l.Key)
		if err != nil || !r.is(l, s.o.Me) {
			return err
		}
		return t.exec("DELETE FROM leases WHERE key = ?", []byte(l.Key))
	})
	return failed("release", l.Key, err)
}

func failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s the lease of %q: %w", what, key, err)
}
