package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What a caller may want to tell apart.
var (
	// ErrFull: the disk is full, and nothing of the write was kept.
	ErrFull = errors.New("the disk is full")
	// ErrBusy: another process held the database for too long.
	errBusy = errors.New("another process is writing to the database")
	// ErrCorrupt: the database cannot be read; the next Open sets it aside.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrNewer: the database was written by a newer Custos.
	ErrNewer = errors.New("the database was written by a newer custos")
	// ErrReadOnly: the database was opened, or lies where it can, only be read.
	errReadOnly = errors.New("the database cannot be written to")
	// ErrNotFound: there is no such alert or action.
	ErrNotFound error = settled("not found")
	// ErrNotPlanned: the action has begun or ended already.
	errNotPlanned error = settled("the action is not waiting to begin")
	// ErrExists: the name or the ID is taken.
	ErrExists error = settled("is taken already")
	// ErrConflict: another has changed it meanwhile; whoever reads it again may try again.
	ErrConflict error = conflict("it was changed meanwhile")
	// ErrEnded: the action or the alert has ended already.
	ErrEnded error = settled("has ended already")
)

// settled is an error that trying again cannot mend. Consumers know it by its
// method, not by its type.
type settled string

func (e settled) Error() string { return string(e) }

// Settled says that trying again cannot help.
func (e settled) Settled() bool { return true }

// conflict is an error that reading again and trying again may mend. Consumers
// know it by its method, not by its type.
type conflict string

func (e conflict) Error() string { return string(e) }

// Conflict says that another was quicker.
func (e conflict) Conflict() bool { return true }

// failed wraps err with what was tried, and with which of the errors above it is.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("cannot %s: %w (%w)", what, kind, err)
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}

func kindOf(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_IOERR:
		if e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ { // the log is shorter than what was written to it
			return ErrCorrupt
		}
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return errBusy
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrCorrupt
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return errReadOnly
	case sqlite3.SQLITE_INTERRUPT:
		return context.Canceled
	}
	return nil
}
