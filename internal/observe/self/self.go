// Package self is the probe of Custos itself: whether it still patrols, and
// whether it could write down what it sees.
package self

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/files"
)

// Options is what the daemon says of itself; there is nothing to configure. What is nil is
// not there, and says nothing.
type Options struct {
	StartedAt fleet.Instant `toml:"-"`
	// PatrolEvery, LastPatrolAge and Remembered are asked at every look. Without
	// PatrolEvery no daemon patrols; without the others the answer is unknown.
	PatrolEvery   func() time.Duration                       `toml:"-"` // from the last patrol to the one that is due; 0 when no daemon runs
	LastPatrolAge func() fleet.Leaf[fleet.Duration]          `toml:"-"`
	Remembered    func(ctx context.Context) fleet.Remembered `toml:"-"`
	// Config, Socket and Unwatched say what is wrong with custos.toml, with the
	// daemon's socket, and with what is followed by event.
	Config    func() string `toml:"-"`
	Socket    func() string `toml:"-"`
	Unwatched func() string `toml:"-"`
	// Now is both clocks; nil: whether the wall clock was set is not known.
	Now func() fleet.Instant `toml:"-"`
	// SearchPath is the PATH of Custos; Standing lists folders that agents work in.
	SearchPath string          `toml:"-"`
	Standing   func() []string `toml:"-"`
	// Schedules says which schedules cannot run, and why.
	Schedules func() string `toml:"-"`
	// Plugins lists the plugins there are.
	Plugins func(ctx context.Context) []fleet.PluginFacts `toml:"-"`
	// Receivers says how those stand who are notified.
	Receivers func() []fleet.Receiver `toml:"-"`
	// Code lists the folders of formulas and plugins that agents may write to.
	Code func() []fleet.CodeFacts `toml:"-"`
	// Landmarks lists the folders and files of Custos itself.
	Landmarks func() []fleet.Landmark `toml:"-"`
	// Terminal returns the process of its own terminal server while that is stopped by a
	// signal.
	Terminal func() int `toml:"-"`
	// JournalDir and StoreFile are paths as the kernel knows them. They need not
	// exist yet: then the nearest folder that does is asked.
	JournalDir string `toml:"-"`
	StoreFile  string `toml:"-"`
	// Reserve is the room that must be left for a journal or a store to count as
	// writable, in bytes; 1 MiB, a hundred patrols, when zero.
	Reserve int64 `toml:"-"`
}

// Probe looks at Custos itself.
type Probe struct {
	o     Options
	clock stepped
}

// New returns the probe. The error is for paths that are missing.
func New(o Options) (*Probe, error) {
	if o.JournalDir == "" || o.StoreFile == "" {
		return nil, errors.New("cannot set up probe self: JournalDir and StoreFile must be given")
	}
	if o.Reserve == 0 {
		o.Reserve = 1 << 20
	}
	if o.LastPatrolAge == nil {
		o.LastPatrolAge = func() fleet.Leaf[fleet.Duration] {
			return fleet.Unknown[fleet.Duration]("there was no patrol yet")
		}
	}
	if o.Remembered == nil {
		o.Remembered = func(context.Context) fleet.Remembered { return fleet.NotRemembered("there is no ledger to ask") }
	}
	return &Probe{o: o}, nil
}

// Spec says what the probe fills and how often.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "self", Part: fleet.PartSelf, Every: 30 * time.Second, Deadline: 5 * time.Second}
}

// Look asks the daemon and the disk. It leaves no trace on the disk.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at self: %w", err)
	}
	s := fleet.Self{
		StartedAt: p.o.StartedAt, PatrolEvery: fleet.Duration(asked(p.o.PatrolEvery)),
		LastPatrolAge:   p.o.LastPatrolAge(),
		JournalWritable: writable(p.o.JournalDir, tryDir(p.o.JournalDir, p.o.Reserve)),
		StoreWritable:   writable(p.o.StoreFile, tryFile(p.o.StoreFile, p.o.Reserve)),
		StoreBytes:      bytesOf(p.o.StoreFile),
		Remembered:      p.o.Remembered(ctx),
		Config:          asked(p.o.Config), Socket: asked(p.o.Socket), Unwatched: asked(p.o.Unwatched), SearchPath: fleet.Line(unsafePath(p.o.SearchPath, asked(p.o.Standing)), 500),
		Schedules: asked(p.o.Schedules), Code: asked(p.o.Code), Receivers: asked(p.o.Receivers), Landmarks: asked(p.o.Landmarks), TerminalStopped: asked(p.o.Terminal),
	}
	if p.o.Plugins != nil {
		s.Plugins = p.o.Plugins(ctx)
	}
	if p.o.Now != nil {
		s.ClockStep = fleet.Known(fleet.Duration(p.clock.look(p.o.Now())))
	}
	return func(snap *fleet.Snapshot) { snap.Self.Value = s }, nil
}

// asked is what a part of Custos says of itself; nothing where there is no such part.
func asked[T any](f func() T) (v T) {
	if f != nil {
		v = f()
	}
	return v
}

// writable is the answer to an attempt to write: yes, a plain no (not allowed, no room,
// read-only), or not known.
func writable(path string, err error) fleet.Leaf[bool] {
	if err == nil {
		return fleet.Known(true)
	}
	for _, plain := range []error{unix.EACCES, unix.EPERM, unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.ENOTDIR} {
		if errors.Is(err, plain) {
			return fleet.Known(false)
		}
	}
	return fleet.Unknown[bool](fleet.Line(fmt.Sprintf("cannot try to write in %s: %v", fleet.Path(path), err), 200))
}

// tryDir says why no file could be made in dir, or in the nearest folder above that
// exists, and filled with reserve bytes. Where the file system can, it tries with a file
// that never gets a name.
func tryDir(dir string, reserve int64) error {
	dir, err := nearest(dir)
	if err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		defer unix.Close(fd)
		err = unix.Fallocate(fd, 0, 0, reserve)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) { // this file system has no nameless files, or sets no room aside
		return permitted(dir, reserve)
	}
	return err
}

// tryFile asks about a file without opening it: to open and close the
// database here would drop the locks that SQLite holds on it in this process.
func tryFile(file string, reserve int64) error {
	err := unix.Faccessat(unix.AT_FDCWD, file, unix.W_OK, unix.AT_EACCESS)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return tryDir(filepath.Dir(file), reserve)
}

// permitted asks for permission and room instead of trying.
func permitted(dir string, reserve int64) error {
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return err
	}
	room, err := files.Room(dir)
	if err == nil && room < reserve {
		return unix.ENOSPC
	}
	return err
}

// nearest returns dir, or the nearest folder above that exists.
func nearest(dir string) (string, error) {
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return dir, nil // what is wrong with it, opening it will show
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("cannot find a folder above %s: %w", fleet.Path(dir), err)
		}
		dir = parent
	}
}

// bytesOf is the size of the database with its write-ahead log; 0 when there is
// none yet.
func bytesOf(file string) fleet.Leaf[int64] {
	total := int64(0)
	for _, name := range []string{file, file + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case err == nil:
			total += info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return fleet.Unknown[int64](fleet.Line(err.Error(), 200))
		}
	}
	return fleet.Known(total)
}
