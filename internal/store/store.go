package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
)

// Options say which database to open, and how.
type Options struct {
	Path      string        // of the database file; its folder is made when absent
	StartedAt fleet.Instant // of this Custos; given back in Past
	Busy      time.Duration // how long to wait for another process; default 5 s
	// Mark is a file in which it is written, beside the database, which database it
	// is and how far it has come; Agents a folder with a folder for each agent, in
	// which AgentMark may tell the same. A database that they contradict says
	// Past.Amnesia until ConfirmAmnesia. "": there is none.
	Mark   string
	Agents string
	// Compare is how long what is in memory is believed before it is compared with the
	// database; default, and at most, an hour.
	Compare time.Duration
	// Wrote is told of each write what became of it, before whoever asked for it is.
	// It must not wait. nil: nobody is.
	Wrote func(error)
	// Damaged is told when a write, or a read of the past, finds the database damaged:
	// only another Open cures that. It must not wait. nil: nobody is.
	Damaged func(error)
	// Ours fails when this process is not the one that may write any more: asked before a
	// database that lies in its place no more is written out there. nil: it is ours.
	Ours func(context.Context) error
	// Now names a damaged database that is set aside; default time.Now.
	Now func() time.Time

	synchronous string // FULL, but for tests that commit thousands of times
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	w      *sql.DB // for whose turn it is; nil when it was opened to read only
	r      *readers
	place  atomic.Pointer[place] // where w writes to
	mirror *mirror               // told of by w
	turn   chan struct{}         // holds one token while somebody writes
	mark   *markFile
	lost   string // read only: what the marks say of it
	opts   Options
}

// Open opens the database to read and write, and brings its schema up to date.
// A damaged database is renamed to PATH.corrupt-TIME and a new one begun, which
// says Past.Amnesia until ConfirmAmnesia. One of a newer Custos is refused with
// ErrNewer, which names the backup that can be read, and left as it is. One of an older
// Custos is backed up before its schema is touched; where that fails, so does Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = withDefaults(o)
	if err := makeFile(o.Path); err != nil {
		return nil, fmt.Errorf("cannot open database: %w", err)
	}
	s, err := openMarked(ctx, o)
	if !errors.Is(err, ErrCorrupt) {
		return s, err
	}
	aside, moved := setAsideFile(o.Path, "corrupt", o.Now())
	if moved != nil {
		return nil, fmt.Errorf("cannot set aside damaged database: %w (%w)", moved, err)
	}
	if err := makeFile(o.Path); err != nil {
		return nil, fmt.Errorf("cannot open database: %w", err)
	}
	if s, err = openMarked(ctx, o); err != nil {
		return nil, err
	}
	if err := s.forget(ctx, aside); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// OpenReadOnly opens an existing database, which nothing is ever written to
// through it. It fails with fs.ErrNotExist when there is none, or an empty file.
func OpenReadOnly(ctx context.Context, o Options) (*Store, error) {
	o = withDefaults(o)
	_, err := os.Stat(o.Path)
	if err == nil {
		err = begun(o.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open database: %w", err)
	}
	beside, err := o.witnesses() // before the database, which only gets ahead of them
	if err != nil {
		return nil, fmt.Errorf("cannot read how far the database had come: %w", err)
	}
	r, is, err := openToRead(ctx, o.Path, dsn(o, "mode", "ro"))
	if err != nil && standsAlone(o.Path) {
		if alone, stands, again := openToRead(ctx, o.Path, dsn(o, "mode", "ro")+"&immutable=1"); again == nil {
			r, is, err = alone, stands, nil
		}
	}
	if err != nil {
		return nil, failed("open database "+o.Path, err)
	}
	return &Store{r: r, mirror: newMirror(), lost: beside.lost(is), opts: o}, nil
}

func openToRead(ctx context.Context, path, dsn string) (*readers, standing, error) {
	r, err := openReaders(dsn)
	if err != nil {
		return nil, standing{}, err
	}
	err = checkVersion(ctx, path, r)
	var is standing
	if err == nil {
		is, err = standingOf(ctx, r)
	}
	if err != nil {
		return nil, is, errors.Join(err, r.Close())
	}
	return r, is, nil
}

// standsAlone says whether all that was written to a database lies in its own file: then
// it can be read without a log or an index beside it, for which a full disk has no room.
// The log is folded in when the last one that wrote closes it.
func standsAlone(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// openMarked opens a database, and compares it with what is written beside it.
func openMarked(ctx context.Context, o Options) (*Store, error) {
	begun, err := isEmpty(o.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot open database: %w", err)
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.settleGeneration(ctx, begun); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.r.look = s.look
	return s, nil
}

// begun fails with fs.ErrNotExist for a database that nothing was written to.
func begun(path string) error {
	empty, err := isEmpty(path)
	if err == nil && empty {
		err = fmt.Errorf("%s is empty: %w", path, fs.ErrNotExist)
	}
	return err
}

// isEmpty says whether nothing was ever written to a database: in a file of no
// length, and in no log beside it.
func isEmpty(path string) (bool, error) {
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || info.Size() > 0 {
			return false, err
		}
	}
	return true, nil
}

// Close closes the database. What was committed is on the disk already, but for
// the moments at which alerts were last true, which are written now, and where the
// file lies in its place no more. A folder that is gone is not made again at the end.
func (s *Store) Close() error {
	var err error
	if exists(filepath.Dir(s.opts.Path)) {
		s.look(context.Background())
		err = s.flush(context.Background())
	}
	err = errors.Join(err, s.r.Close())
	if s.w != nil {
		err = errors.Join(err, s.w.Close())
	}
	err = errors.Join(err, s.mark.close())
	return failed("close database", err)
}

func withDefaults(o Options) Options {
	if o.Busy <= 0 {
		o.Busy = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ours == nil {
		o.Ours = func(context.Context) error { return nil }
	}
	if o.synchronous == "" {
		o.synchronous = "FULL"
	}
	return o
}

// open checks, migrates and opens. One connection writes, so that writers of
// this process queue here and not on the file's lock.
func open(ctx context.Context, o Options) (*Store, error) {
	m := newMirror()
	if o.Compare > 0 {
		m.lasts = min(reload, o.Compare)
	}
	w := sql.OpenDB(overheard{dsn(o, "_txlock", "immediate"), m})
	w.SetMaxOpenConns(1)
	if err := prepare(ctx, o, w); err != nil {
		_ = w.Close()
		return nil, failed("open database "+o.Path, err)
	}
	r, err := openReaders(dsn(o, "_pragma", "query_only(1)"))
	if err != nil {
		_ = w.Close()
		return nil, failed("open database "+o.Path, err)
	}
	s := &Store{w: w, r: r, mirror: m, turn: make(chan struct{}, 1), opts: o}
	if err := s.settle(); err != nil {
		return nil, errors.Join(failed("open database "+o.Path, err), w.Close(), r.Close())
	}
	return s, nil
}

// prepare touches nothing before it knows that the database is whole, and of a
// version it may write.
func prepare(ctx context.Context, o Options, w *sql.DB) error {
	list, err := migrations()
	if err != nil {
		return err
	}
	if err := quickCheck(ctx, w); err != nil {
		return err
	}
	at, err := version(ctx, w)
	if err != nil || at > len(list) {
		return cmp.Or(err, newer(o.Path, at, len(list)))
	}
	if at > 0 && at < len(list) { // who goes back to the program before needs it
		if _, err := Backup(ctx, o.Path, o.Now()); err != nil {
			return fmt.Errorf("its schema is of version %d, and is brought up to date only behind a backup: %w", at, err)
		}
	}
	// auto_vacuum only takes in an empty database, before WAL is on.
	for _, pragma := range []string{"auto_vacuum=INCREMENTAL", "journal_mode=WAL"} {
		if _, err := w.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	return migrate(ctx, w, list)
}

func quickCheck(ctx context.Context, w *sql.DB) error {
	var verdict string
	if err := w.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, fleet.Line(verdict, 200))
	}
	return nil
}

func dsn(o Options, key, value string) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", o.Busy.Milliseconds()),
		"synchronous(" + o.synchronous + ")", "foreign_keys(1)", "cache_size(-1024)",
	}}
	if key == "_txlock" { // who writes: a batch of usage touches most of an index, and what finds no room is read and written again
		q.Add("_pragma", "cache_size(-4096)")
	}
	q.Set("mode", "rw") // makeFile makes it: one that was deleted since is not begun anew by who connects
	if key == "mode" {
		q.Set(key, value)
	} else {
		q.Add(key, value)
	}
	abs, err := filepath.Abs(o.Path)
	if err != nil {
		abs = o.Path
	}
	return (&url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}).String()
}

// makeFile makes the database's folder and, so that nobody else may read it,
// the file.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
