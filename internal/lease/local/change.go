package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// schema is of version 1. counter is the largest epoch and token that was ever given out, of any
// key: so a lease that is over may go.
const (
	version = 1
	// ours marks the file as one of leases, in its header (sqlite.org/fileformat.html, 1.2.17).
	ours   = 0x6375_6c65 // "cule"
	schema = `
CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (1, 0);
CREATE TABLE leases (key BLOB PRIMARY KEY, host TEXT NOT NULL, run TEXT NOT NULL, epoch INTEGER NOT NULL, token INTEGER NOT NULL,
	boot TEXT NOT NULL, until INTEGER NOT NULL) STRICT; -- until: CLOCK_BOOTTIME, in nanoseconds
CREATE TABLE claims (n INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, host TEXT NOT NULL, run TEXT NOT NULL, at INTEGER NOT NULL) STRICT; -- at: seconds since 1970
PRAGMA application_id = 0x63756c65;
PRAGMA user_version = 1;`
)

// tx is one transaction, which holds the file alone.
type tx struct {
	ctx  context.Context
	conn *sql.Conn
}

// change does something in one transaction, all of it or nothing.
func (s *Store) change(ctx context.Context, do func(*tx) error) error {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	t, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer t.conn.Close()
	if err = do(t); err == nil {
		err = t.exec("COMMIT")
	}
	if err != nil {
		t.undo()
	}
	return err
}

// undo ends what may have begun, whatever the context is: a call that is not waited for may have been done all the
// same. Where there is nothing to end, it fails.
func (t *tx) undo() { _, _ = t.conn.ExecContext(context.WithoutCancel(t.ctx), "ROLLBACK") }

// begin waits until no other process has the file.
func (s *Store) begin(ctx context.Context) (*tx, error) {
	for {
		t, err := s.tryBegin(ctx)
		if err == nil || !isBusy(err) {
			return t, err
		}
		pause := time.NewTimer(time.Millisecond + rand.N(9*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// tryBegin has the file alone from the beginning, so that nobody keeps it from its COMMIT.
func (s *Store) tryBegin(ctx context.Context) (*tx, error) {
	conn, err := s.hand.Conn(ctx) // the first one reads the file, too
	if err != nil {
		return nil, err
	}
	t := &tx{ctx, conn}
	if err := t.exec("BEGIN EXCLUSIVE"); err != nil {
		if !isBusy(err) { // then nothing has begun
			t.undo()
		}
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

// isBusy says whether another process has the file.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// prepare makes the tables in an empty file, and wants ours in any other.
func (s *Store) prepare() error {
	err := s.change(context.Background(), func(t *tx) error {
		var app, is, tables int64
		err := t.conn.QueryRowContext(t.ctx, "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").Scan(&app, &is, &tables)
		switch {
		case err != nil:
			return err
		case tables == 0 && is == 0 && app == 0:
			return t.exec(schema)
		case app != ours:
			return errors.New("it is a database of something else, and is left as it is")
		case is != version:
			return fmt.Errorf("it is of version %d, and %d is known: it is left as it is", is, version)
		}
		return nil
	})
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_NOTADB {
		return fmt.Errorf("it is no database, and is left as it is: %w", err)
	}
	return err
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.conn.ExecContext(t.ctx, query, args...)
	return err
}

// count is a number that is larger than every one before it, and not less than least.
func (t *tx) count(least uint64) (n uint64, err error) {
	err = t.conn.QueryRowContext(t.ctx, "UPDATE counter SET n = max(n + 1, ?) RETURNING n", int64(least)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("cannot count on: %w", err)
	}
	return n, nil
}

// write writes a lease in the place of the one of its key.
func (t *tx) write(l lease.Lease) error {
	return t.exec("INSERT OR REPLACE INTO leases (key, host, run, epoch, token, boot, until) VALUES (?, ?, ?, ?, ?, ?, ?)",
		[]byte(l.Key), l.Holder.Host, l.Holder.Run, int64(l.Epoch), int64(l.Token), l.Until.Boot, int64(l.Until.Up))
}

// sweep takes out what is over, but for what cannot be read.
func (t *tx) sweep(now fleet.Instant) error {
	return t.exec("DELETE FROM leases WHERE (boot <> ? OR until <= ?) AND host <> '' AND epoch > 0 AND token >= epoch", now.Boot, int64(now.Up))
}
