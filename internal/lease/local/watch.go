package local

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"custos/internal/lease"
)

// poll is how often it is looked whether something has changed: no process tells the others. What
// changed twice meanwhile is told once, as it is then.
const poll = 200 * time.Millisecond

// Watch tells of leases, as lease.Store says, at most a fifth of a second late: of each as it is
// then. It looks at SQLite's data_version (sqlite.org/pragma.html#pragma_data_version), which is
// another one when any other connection has written, and at the clock for what ends by itself.
// A row that cannot be read is told to Options.Warn, and to nobody else.
func (s *Store) Watch(ctx context.Context, keys []string, tell func(lease.Lease)) error {
	err := s.watch(ctx, keys, tell)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("cannot watch the leases in %s: %w", s.path, err)
}

func (s *Store) watch(ctx context.Context, keys []string, tell func(lease.Lease)) error {
	conn, err := s.eyes.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	w := watch{store: s, conn: conn, keys: keys, tell: tell, told: map[string]row{}}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := w.look(ctx)
		if err != nil && !isBusy(err) { // whoever has the file has it for milliseconds
			return err
		}
		if err == nil && !w.begun {
			w.begun = true
			tell(lease.Lease{}) // these were all
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch is one who is told.
type watch struct {
	store   *Store
	conn    *sql.Conn
	keys    []string // of which it is told; nil: of all
	tell    func(lease.Lease)
	version int64          // of the file, when it was read; 0: never
	rows    []row          // as they were then
	told    map[string]row // what was told as held
	begun   bool           // all that was held at the start was told
}

// look reads the file where it has changed, and tells what is another than was told.
func (w *watch) look(ctx context.Context) error {
	var version int64
	if err := w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return err
	}
	if version != w.version {
		read, err := rows(ctx, w.conn, w.store.o.Warn)
		if err != nil {
			return err
		}
		if w.keys != nil {
			read = slices.DeleteFunc(read, func(r row) bool { return !slices.Contains(w.keys, r.key) })
		}
		w.version, w.rows = version, read
	}
	w.compare()
	return nil
}

// compare tells first what is nobody's any more, and then what somebody holds.
func (w *watch) compare() {
	now := w.store.o.Clock()
	held := map[string]row{}
	for _, r := range w.rows {
		if r.held(now) {
			held[r.key] = r
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.told)) {
		if _, is := held[key]; !is {
			delete(w.told, key)
			w.tell(lease.Lease{Key: key})
		}
	}
	for _, r := range w.rows {
		if r.held(now) && w.told[r.key] != r {
			w.told[r.key] = r
			w.tell(r.lease(now))
		}
	}
}
