//go:build linux

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrChanged says that a file is not the one, or not as, it was.
var ErrChanged = errors.New("changed")

// SetAside renames the file at path to a hidden name beside it that no pattern
// of Find matches, and returns that name. It never deletes and never replaces
// anything. f is the same file, open, as it was checked: when the file that was
// really moved is another one or has been written to since, it is put back and
// the error is ErrChanged. check, when given, looks once more at the moved
// file's content through f.
func SetAside(path string, f *os.File, want Identity, at time.Time, check func() error) (string, error) {
	aside := AsideName(path, at.UTC().Format("20060102T150405.000000000Z"))
	if err := move(byPath(path), byPath(aside), f, want, check); err != nil {
		return "", fmt.Errorf("cannot set %s aside: %w", path, err)
	}
	return aside, nil
}

// AsideName returns the name SetAside gives to path; stamp is the time of the act.
func AsideName(path, stamp string) string {
	return filepath.Join(filepath.Dir(path), ownPrefix+"removed-"+filepath.Base(path)+"-"+stamp)
}

// spot is where a file lies: a name in an open folder, or a path.
type spot struct {
	dir  int // unix.AT_FDCWD for a path
	name string
}

func byPath(path string) spot { return spot{unix.AT_FDCWD, path} }

// move renames as SetAside says, and puts back what is not what it was.
func move(from, to spot, f *os.File, want Identity, check func() error) error {
	if err := rename(from, to); err != nil {
		return err
	}
	err := isStill(to, f, want)
	if err == nil && check != nil {
		err = check()
	}
	if err == nil {
		return nil
	}
	if back := rename(to, from); back != nil {
		return fmt.Errorf("cannot put it back (it is at %s): %w, after: %w", to.name, back, err)
	}
	return err
}

func isStill(at spot, f *os.File, want Identity) error {
	moved, err := at.lstat()
	if err != nil {
		return err
	}
	held, err := Stat(f)
	if err != nil {
		return err
	}
	if moved.Identity != want || held.Identity != want {
		return fmt.Errorf("it was replaced or written to meanwhile: %w", ErrChanged)
	}
	return nil
}

func (s spot) lstat() (Info, error) { return lstatAt(s.dir, s.name) }

// rename never replaces an existing file. Where the file system cannot promise
// that by itself, we look first.
func rename(from, to spot) error {
	err := unix.Renameat2(from.dir, from.name, to.dir, to.name, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(to.dir, to.name, &st, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return unix.Renameat(from.dir, from.name, to.dir, to.name)
}

// Locked says whether some process holds f by flock or by a POSIX or OFD lock.
// When none does, f itself holds the flock until it is closed, so that
// no process can take it in between. Locks held on the other side of a network
// file system or by a container with another view may not be seen.
func Locked(f *os.File) (bool, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	held := false
	var failed error
	err = conn.Control(func(fd uintptr) {
		held, failed = locked(int(fd))
	})
	if err == nil {
		err = failed
	}
	return held, err
}

func locked(fd int) (bool, error) {
	query := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0}
	if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &query); err != nil {
		return false, fmt.Errorf("cannot ask for locks: %w", err)
	}
	if query.Type != unix.F_UNLCK {
		return true, nil
	}
	switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("cannot try the lock: %w", err)
	}
	return false, nil
}
