package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"custos/internal/fleet"
)

// A file that is deleted, renamed or replaced while it is open goes on being read and
// written by whoever has it open, without a word, and is gone when that ends. Nothing of
// it is lost until then, so it is written out whole to a new file in its place, and gone
// on with there. A file that is damaged in its place is another thing: of what is read
// from it nothing vouches for anything (see ErrCorrupt).

// besides are the endings of the files of one database: itself, its log, its index.
var besides = [...]string{"", "-wal", "-shm"}

// place is where the files of an open database lie, and which files they are.
type place struct {
	path string // no link
	made [len(besides)]os.FileInfo
}

// placeOf looks at the files of a database that was just opened.
func placeOf(path string) (*place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	p := &place{path: real}
	for i, end := range besides {
		if p.made[i], err = os.Stat(real + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return p, nil
}

// left says which of the files lies there no more; "" while all do, or it cannot be told.
func (p *place) left() string {
	if p == nil {
		return ""
	}
	for i, end := range besides {
		if p.made[i] == nil {
			continue
		}
		is, err := os.Stat(p.path + end)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return fleet.Path(p.path+end) + " was deleted"
		case err == nil && !os.SameFile(is, p.made[i]):
			return fleet.Path(p.path+end) + " was replaced"
		}
	}
	return ""
}

// isEmptied says whether nothing is in the file any more. What SQLite has of it in memory
// is no whole.
func (p *place) isEmptied() bool {
	if p == nil {
		return false
	}
	is, err := os.Stat(p.path)
	return err == nil && is.Size() == 0 && os.SameFile(is, p.made[0])
}

// takeTurn waits until nobody else writes, and sees to it that what is written lies
// where it is found again.
func (s *Store) takeTurn(ctx context.Context) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.stay(ctx); err != nil {
		<-s.turn
		return nil, err
	}
	return func() { <-s.turn }, nil
}

// look is takeTurn for who only reads, which nobody does whose turn it is: where no new
// file can be written, what is open is read all the same.
func (s *Store) look(ctx context.Context) {
	if at := s.place.Load(); at.left() == "" && !at.isEmptied() {
		return
	}
	release, err := s.takeTurn(ctx)
	if err != nil {
		s.met(failed("keep the database", err))
		return
	}
	release()
}

// stay writes the database out anew when it lies in its place no more. The turn is held.
func (s *Store) stay(ctx context.Context) error {
	at := s.place.Load()
	if at.isEmptied() {
		return fmt.Errorf("%w: %s was emptied", ErrCorrupt, fleet.Path(at.path))
	}
	what := at.left()
	if what == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	err := s.opts.Ours(ctx) // or it would be put in the place of another's
	if err == nil {
		err = s.writeOut(ctx, at)
	}
	if err == nil {
		err = s.reconnect(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s while it was open, and what it holds cannot be written to a new file: %w", what, err)
	}
	return s.writeNow(ctx, "note that the database was written anew", fleet.Instant{Wall: s.opts.Now()}, func(t *tx) error {
		if err := errors.Join(t.setMeta("moved", what), t.setMeta("moved_at", wall(t.at.Wall))); err != nil {
			return err
		}
		return t.event(fleet.Event{Kind: "database.moved", Text: what + "; what it held was written to a new file"})
	})
}

// writeOut puts a whole copy in the place of the files that were there, and sets aside
// what is there now.
func (s *Store) writeOut(ctx context.Context, at *place) error {
	if err := os.MkdirAll(filepath.Dir(at.path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(at.path), "."+filepath.Base(at.path)+"-")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.w.ExecContext(ctx, "VACUUM INTO ?", f.Name()) // it does not wait for the disk
	if err = cmp.Or(err, f.Sync()); err == nil {
		_, err = setAsideFile(at.path, "replaced", s.opts.Now())
	}
	if err = cmp.Or(err, os.Rename(f.Name(), at.path)); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// reconnect has everybody go on with the file that lies in the place now.
func (s *Store) reconnect(ctx context.Context) error {
	s.w.SetMaxIdleConns(0) // the one that writes is idle: this is its turn
	s.w.SetMaxIdleConns(1)
	if err := prepare(ctx, s.opts, s.w); err != nil {
		return err
	}
	if err := s.r.anew(); err != nil {
		return err
	}
	return s.settle()
}

// settle notes which files are open.
func (s *Store) settle() error {
	at, err := placeOf(s.opts.Path)
	if err == nil {
		s.place.Store(at)
	}
	return err
}

// Moved says what became of the file of the database since a moment, though nothing of
// it was lost; "" while it lies where it was made.
func (s *Store) Moved(ctx context.Context, since time.Time) (string, error) {
	at, err := meta(ctx, s.r, "moved_at")
	if err != nil || at <= wall(since) {
		return "", failed("read whether the database was moved", err)
	}
	what, err := meta(ctx, s.r, "moved")
	return what, failed("read whether the database was moved", err)
}

// readers are the connections that read.
type readers struct {
	dsn  string
	look func(context.Context) // before each use; nil: nobody does

	db  atomic.Pointer[sql.DB]
	mu  sync.Mutex
	all []*sql.DB
}

// openReaders opens a pool of at most so many connections.
func openReaders(dsn string) (*readers, error) {
	r := &readers{dsn: dsn}
	return r, r.anew()
}

// mostReaders is how many read at once.
const mostReaders = 4

// anew goes on with connections to the file that lies at the path now. What is being
// read is read to its end by the old ones, none of which is used again.
func (r *readers) anew() error {
	db, err := sql.Open("sqlite", r.dsn)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(mostReaders)
	db.SetMaxIdleConns(mostReaders)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, old := range r.all {
		old.SetMaxIdleConns(-1)
	}
	r.all = append(r.all, db)
	r.db.Store(db)
	return nil
}

func (r *readers) use(ctx context.Context) *sql.DB {
	if r.look != nil {
		r.look(ctx)
	}
	return r.db.Load()
}

// BeginTx begins to read as of one moment. Whoever calls it looks first: the mirror,
// which a new file is told to, is held by then.
func (r *readers) BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error) {
	return r.db.Load().BeginTx(ctx, o)
}

// QueryContext reads rows.
func (r *readers) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := r.use(ctx).QueryContext(ctx, query, args...)
	if isNotThere(err) {
		return r.use(ctx).QueryContext(ctx, query, args...)
	}
	return rows, err
}

// QueryRowContext reads one row.
func (r *readers) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := r.use(ctx).QueryRowContext(ctx, query, args...)
	if isNotThere(row.Err()) {
		return r.use(ctx).QueryRowContext(ctx, query, args...)
	}
	return row
}

// isNotThere says whether there may have been no file to connect to: one that is deleted
// since somebody looked is looked for once more.
func isNotThere(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CANTOPEN || e.Code() == sqlite3.SQLITE_IOERR_FSTAT)
}

// Close closes them all.
func (r *readers) Close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, db := range r.all {
		err = errors.Join(err, db.Close())
	}
	return err
}
