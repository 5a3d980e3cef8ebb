// Package legio reads the session store of Legio and of Overstory, which was
// made from it: sessions.db below the folder .legio or .overstory of a project.
// What stands in it is what those supervisors have recorded, not what is so.
//
// Nothing is written, no lock is taken that a writer would wait for, and no file
// appears beside the store. A store that cannot be read says why, by one of the
// errors of this package.
package legio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Why a store could not be read.
var (
	// errMissing: the project has the folder, and no store in it.
	errMissing = errors.New("there is no session store")
	// errLocked: its supervisor holds it, or is just writing to it.
	errLocked = errors.New("the session store is locked")
	// errDamaged: it is no database, or a torn one.
	errDamaged = errors.New("the session store is damaged")
	// errSchema: it is a database, and not one that is known here.
	errSchema = errors.New("the session store is of an unknown schema")
	// errStranger: it is a link, a device, or another user's.
	errStranger = errors.New("the session store is no file of this user")
)

// Session is one row: what is recorded of the agent of a name. A name has one
// row; the next agent that is started under it overwrites it.
type Session struct {
	Agent        string
	Capability   string // its role: builder, scout, coordinator, …
	Worktree     string
	Branch       string
	Task         string
	Tmux         string // session; "" for an agent without a terminal
	State        string // as it is written: booting, working, completed, zombie, …
	PID          int    // 0: none is recorded
	Parent       string
	Run          string
	Started      time.Time
	LastActivity time.Time
}

// folders are the names of the folders a store lies in.
func folders() []string { return []string{".legio", ".overstory"} }

// Store is where one store lies.
type Store struct {
	Path   string // of sessions.db, whether it is there or not
	Writer string // legio or overstory
}

// In returns the stores of one project's folder: of each supervisor that has its
// own folder in it.
func In(project string) (found []Store) {
	for _, name := range folders() {
		dir := filepath.Join(project, name)
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			found = append(found, Store{Path: filepath.Join(dir, "sessions.db"), Writer: name[1:]})
		}
	}
	return found
}

// Reader reads stores, each again only when it has changed. It is not for use by
// two at once.
type Reader struct {
	known map[string]reading
}

type reading struct {
	stamp    stamp
	sessions []Session
}

// NewReader returns a Reader that has read nothing.
func NewReader() *Reader { return &Reader{known: map[string]reading{}} }

// Sessions lists what a store has recorded, by name of the agent. What it
// returns is not to be changed.
func (r *Reader) Sessions(ctx context.Context, path string) ([]Session, error) {
	before, err := stampOf(path)
	if err != nil {
		delete(r.known, path)
		return nil, err
	}
	if k, ok := r.known[path]; ok && k.stamp == before {
		return k.sessions, nil
	}
	delete(r.known, path)
	sessions, err := read(ctx, path, before)
	if err != nil {
		return nil, err
	}
	// What was written to meanwhile may be torn, where nothing was locked.
	after, err := stampOf(path)
	if err != nil {
		return nil, err
	}
	if after != before {
		if !before.shared() {
			return nil, because(errLocked, path, errors.New("it was written to while it was read"))
		}
		return sessions, nil
	}
	r.known[path] = reading{before, sessions}
	return sessions, nil
}

// Forget drops what was read of stores that keep does not name, so that a project
// that is gone takes no room.
func (r *Reader) Forget(keep func(path string) bool) {
	for path := range r.known {
		if !keep(path) {
			delete(r.known, path)
		}
	}
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
