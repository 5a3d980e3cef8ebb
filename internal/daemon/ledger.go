package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
	"custos/internal/store"
)

// ledgerFile is the store as this process may use it: opened for reading when it
// is first asked, and for writing, under the lock of the one writer, when
// something is first written. A look therefore leaves no trace on disk.
type ledgerFile struct {
	cfg     config.Config
	started fleet.Instant
	what    string                // this process, for whoever finds the lock taken
	wait    time.Duration         // how long to wait for the lock
	wrote   func(error)           // told of each write what became of it; nil: nobody is
	damaged func(error)           // told when what is open is damaged; nil: nobody is
	hurt    atomic.Pointer[error] // how what is open is damaged; nil: it is not known to be

	mu   sync.Mutex
	st   *store.Store    // nil until opened
	lock *onewriter.Lock // nil while st is only for reading
	held *onewriter.Lock // was taken before; nil: it is to be taken
}

func storeFile(cfg config.Config) string { return filepath.Join(cfg.StateDir, "custos.db") }

// Past returns what is remembered, for those who can say that it is not: of a database
// that is damaged, that all is lost; of one that cannot be opened, why.
func (l *ledgerFile) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	none := fleet.Past{StartedAt: l.started, NextAlert: 1}
	switch _, err := l.reader(ctx); {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return l.remembered(ctx, at)
	case errors.Is(err, store.ErrCorrupt):
		// The next writer sets it aside. What was tried before cannot be told, so
		// nothing may be tried now.
		none.Amnesia, none.Lost = true, damaged
	default:
		none.Blind = err.Error()
	}
	return none, nil
}

// damaged is what became of what was known, where the database cannot be read.
const damaged = "the database is damaged"

// lost says what became of what was known, until a person has acknowledged it; "" while
// it is there.
func (l *ledgerFile) lost(ctx context.Context) (string, error) {
	st, err := l.reader(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return store.LostWithout(l.options())
	case errors.Is(err, store.ErrCorrupt):
		return damaged, nil
	case err != nil:
		return "", err
	}
	return st.Lost(ctx)
}

// remembered returns what is remembered; of a database that does not exist yet, nothing.
// What cannot be read is an error.
func (l *ledgerFile) remembered(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	st, err := l.reader(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		lost, err := store.LostWithout(l.options())
		return fleet.Past{StartedAt: l.started, NextAlert: 1, Amnesia: lost != "", Lost: lost}, err
	}
	if err != nil {
		return fleet.Past{}, err
	}
	past, err := st.Past(ctx, at)
	past.Alerts = fleet.Held(past.Alerts, past.Silences)
	return past, err
}

// reader returns the store, opened at least for reading. It fails with
// fs.ErrNotExist when there is none yet.
func (l *ledgerFile) reader(ctx context.Context) (*store.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hurt := l.hurt.Load(); hurt != nil {
		return nil, *hurt
	}
	if l.st != nil {
		return l.st, nil
	}
	if _, err := os.Stat(storeFile(l.cfg)); err != nil {
		return nil, err
	}
	st, err := store.OpenReadOnly(ctx, l.options())
	if err != nil {
		return nil, err
	}
	l.st = st
	return st, nil
}

// writer returns the store, opened for writing. It fails with onewriter.ErrHeld when
// another process writes.
func (l *ledgerFile) writer(ctx context.Context) (*store.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hurt := l.hurt.Load(); hurt != nil && l.lock != nil {
		return nil, *hurt
	}
	if l.lock != nil {
		return l.st, nil
	}
	held, err := l.held, error(nil)
	if held == nil {
		held, err = onewriter.Take(ctx, l.cfg, l.what, l.wait)
	}
	if errors.Is(err, onewriter.ErrHeld) {
		return nil, onewriter.Refused(err)
	}
	if err != nil {
		return nil, err
	}
	l.held = nil
	if l.st != nil {
		_ = l.st.Close() // it was only for reading
		l.st = nil
	}
	if err := os.MkdirAll(l.cfg.StateDir, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make the state folder: %w", err), held.Release())
	}
	o := l.options()
	o.Ours = func(ctx context.Context) error { _, err := held.Keep(ctx); return err }
	st, err := store.Open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	l.st, l.lock = st, held
	l.hurt.Store(nil) // it is set aside
	return st, nil
}

func (l *ledgerFile) options() store.Options {
	return store.Options{Path: storeFile(l.cfg), StartedAt: l.started, Mark: filepath.Join(l.cfg.StateDir, "generation"),
		Agents: filepath.Join(l.cfg.RuntimeDir, "agents"), Compare: l.compareEvery(), Wrote: l.wrote, Damaged: l.met}
}

// compareEvery is how long what is in memory is believed: from patrol to patrol, or as
// CUSTOS_COMPARE says, by which the night compares at each pass.
func (l *ledgerFile) compareEvery() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("CUSTOS_COMPARE")); err == nil && d > 0 {
		return d
	}
	return l.cfg.PatrolEvery
}

// met takes an error of the store that is open. Once it was found damaged nothing more
// is read from it or written to it, whatever part of it can be read still: it is then
// told of as any database that cannot be opened.
func (l *ledgerFile) met(err error) {
	if !errors.Is(err, store.ErrCorrupt) || !l.hurt.CompareAndSwap(nil, &err) || l.damaged == nil {
		return
	}
	l.damaged(err)
}

// Close closes the store and gives the lock back.
func (l *ledgerFile) Close() error {
	_, err := l.handOff(false)
	return err
}

// handOff closes the store, and gives the lock back or, with keep, returns it.
func (l *ledgerFile) handOff(keep bool) (*onewriter.Lock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	if l.st != nil {
		errs = append(errs, l.st.Close())
	}
	held := l.lock
	if held == nil {
		held = l.held
	}
	l.st, l.lock, l.held = nil, nil, nil
	if keep || held == nil {
		return held, errors.Join(errs...)
	}
	return nil, errors.Join(append(errs, held.Release())...)
}

// The actor's and the reporter's ports, each through the writer.

// Commit writes a turn.
func (l *ledgerFile) Commit(ctx context.Context, t fleet.Turn) error {
	return l.write(ctx, func(st *store.Store) error { return st.Commit(ctx, t) })
}

// Start writes that an action is about to change the world.
func (l *ledgerFile) Start(ctx context.Context, id string, at fleet.Instant) error {
	return l.write(ctx, func(st *store.Store) error { return st.Start(ctx, id, at) })
}

// Finish writes what became of an action.
func (l *ledgerFile) Finish(ctx context.Context, r fleet.Result) error {
	return l.write(ctx, func(st *store.Store) error { return st.Finish(ctx, r) })
}

// Learn writes what an action that goes on has learned of its agent.
func (l *ledgerFile) Learn(ctx context.Context, id string, r fleet.Registration) error {
	return l.write(ctx, func(st *store.Store) error { return st.Learn(ctx, id, r) })
}

// Due returns the messages to be tried now.
func (l *ledgerFile) Due(ctx context.Context, at fleet.Instant, limit int) (due []fleet.Message, err error) {
	err = l.write(ctx, func(st *store.Store) error { due, err = st.Due(ctx, at, limit); return err })
	return due, err
}

// Sent strikes a message off.
func (l *ledgerFile) Sent(ctx context.Context, id string, at fleet.Instant) error {
	return l.write(ctx, func(st *store.Store) error { return st.Sent(ctx, id, at) })
}

// Told returns what a receiver was told.
func (l *ledgerFile) Told(ctx context.Context, to string) (told []byte, err error) {
	err = l.write(ctx, func(st *store.Store) error { told, err = st.Told(ctx, to); return err })
	return told, err
}

// Keep keeps what a receiver was told.
func (l *ledgerFile) Keep(ctx context.Context, to string, told []byte, at fleet.Instant) error {
	return l.write(ctx, func(st *store.Store) error { return st.Keep(ctx, to, told, at) })
}

// Failed puts a message off.
func (l *ledgerFile) Failed(ctx context.Context, id string, at fleet.Instant, why string, next fleet.Instant) error {
	return l.write(ctx, func(st *store.Store) error { return st.Failed(ctx, id, at, why, next) })
}

func (l *ledgerFile) write(ctx context.Context, do func(*store.Store) error) error {
	st, err := l.writer(ctx)
	if err != nil {
		return err
	}
	return do(st)
}

// generation is the mark of the ledger; "" while it is only read.
func (l *ledgerFile) generation() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.st == nil {
		return ""
	}
	return l.st.Generation()
}

// keeps is the lock that this process writes under; nil while it has none.
func (l *ledgerFile) keeps() *onewriter.Lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lock
}

// mayAct says why this process may change nothing in the world: it is frozen, or another
// one may be the one writer by now. "" when it may.
func (l *ledgerFile) mayAct() string {
	if why := Frozen(l.cfg); why != "" {
		return why
	}
	if held := l.keeps(); held != nil {
		return held.Standing(context.Background())
	}
	return ""
}

// opened returns the store that this process writes to; nil while it has none.
func (l *ledgerFile) opened() *store.Store {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return nil
	}
	return l.st
}

// writing says whether this process has written, or may.
func (l *ledgerFile) writing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lock != nil
}

// trim returns a function that drops records past their retention.
func (l *ledgerFile) trim(now func() fleet.Instant) func(context.Context) error {
	return func(ctx context.Context) error {
		return l.write(ctx, func(st *store.Store) error {
			at := now()
			return errors.Join(st.Trim(ctx, at), st.TrimHooks(ctx, at, 0, 0), st.TrimUsage(ctx, at, 0, 0))
		})
	}
}
