// Package closelandmark is the action "close-landmark": it takes from all other users
// else the right to a folder, file or socket of Custos itself. It changes a mode,
// and nothing that is in it.
package closelandmark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"custos/internal/act"
	"custos/internal/fleet"
)

// Do is the name of the action.
const Do = "close-landmark"

// Action implements act.Action.
type Action struct{ uid int }

// New returns the action, for things of a user.
func New(uid int) *Action { return &Action{uid} }

// Ability implements act.Action. What is closed is closed: doing it twice does no harm.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartSelf}, Deadline: fleet.Duration(10e9)}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	l := a.Target.Landmark
	if l == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"chmod", fmt.Sprintf("%o", l.Shut()), l.Path}, Note: fmt.Sprintf("it is %o; only while it is the same %s, and ours", l.Mode, l.Is)}}
}

// Prepare implements act.Action: the same thing, of the same sort, and of this user.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	l := a.Target.Landmark
	if l == nil {
		return nil, errors.New("cannot close it: the target is no landmark")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", l.Path, err)
	}
	if open, known := l.Open.Get(); !l.Owner.MayTouch() || !known || !open {
		return nil, fmt.Errorf("cannot close %s: it is not known to be ours and open: %w", l.Path, act.ErrRefused)
	}
	path, err := filepath.EvalSymlinks(fleet.RawPath(l.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is gone: %w", l.Path, act.ErrUnneeded)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", l.Path, err)
	}
	r := &run{uid: x.uid, mark: *l, path: path}
	if r.f, err = hold(path); err != nil {
		return nil, fmt.Errorf("cannot hold %s: %w", l.Path, err)
	}
	if err := r.check(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// hold opens a thing without reading it: a socket and a folder too, and whatever
// its mode is. Who renames another one to its place changes nothing then.
func hold(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

type run struct {
	uid  int
	mark fleet.Landmark
	path string
	f    *os.File
}

func (r *run) check() error {
	st, err := r.stat()
	if err != nil {
		return err
	}
	if uint64(st.Dev) != r.mark.File.Device || st.Ino != r.mark.File.Inode || sort(st.Mode) != r.mark.Is || int(st.Uid) != r.uid {
		return fmt.Errorf("cannot close %s: it is not the %s of ours that was seen: %w", r.mark.Path, r.mark.Is, act.ErrRefused)
	}
	if st.Mode&0o777&^uint32(r.mark.Shut()) == 0 {
		return fmt.Errorf("%s is closed: %w", r.mark.Path, act.ErrUnneeded)
	}
	return nil
}

func (r *run) stat() (st unix.Stat_t, err error) {
	if err = unix.Fstat(int(r.f.Fd()), &st); err != nil {
		err = fmt.Errorf("cannot look at %s: %w", r.mark.Path, err)
	}
	return st, err
}

func sort(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFREG:
		return "file"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "other"
}

// Do implements act.Run. It takes rights away and gives none: a folder that its
// owner may not write stays so. A held thing that was opened by its path alone is
// changed through /proc.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot close %s: %w", r.mark.Path, err)
	}
	st, err := r.stat()
	if err != nil {
		return err
	}
	if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", r.f.Fd()), st.Mode&uint32(r.mark.Shut())); err != nil {
		return fmt.Errorf("cannot close %s: %w", r.mark.Path, err)
	}
	return nil
}

// Verify implements act.Run: what lies at the path now is closed.
func (r *run) Verify(context.Context) (string, error) {
	info, err := os.Lstat(r.path)
	if err != nil {
		return "", fmt.Errorf("cannot look at %s again: %w", r.mark.Path, err)
	}
	if left := uint64(info.Mode().Perm()) &^ r.mark.Shut(); left != 0 {
		return "", fmt.Errorf("others still get at %s (mode %#o)", r.mark.Path, info.Mode().Perm())
	}
	return fmt.Sprintf("%s has mode %#o, it had %#o", r.mark.Path, info.Mode().Perm(), r.mark.Mode), nil
}

// Close implements act.Run.
func (r *run) Close() { r.f.Close() }
