//go:build linux

package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNotFolder says that a name is that of something else than a folder: a file, a link.
var ErrNotFolder = errors.New("not a folder")

// Folder is an open folder. What lies in it is reached through it, so that nothing else can
// be put in its place meanwhile. No link in it is followed.
type Folder struct{ f *os.File }

// OpenFolder opens a folder that a person named, through links.
func OpenFolder(path string) (Folder, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOTDIR) {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFolder}
	}
	return Folder{f}, err
}

// Close lets go of it.
func (d Folder) Close() { d.f.Close() }

// Folder opens a folder in it.
func (d Folder) Folder(name string) (Folder, error) {
	f, err := d.open(name, unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotFolder}
	}
	return Folder{f}, err
}

// Names lists what lies in it, by name; more says that there is more than most.
func (d Folder) Names(most int) (names []string, more bool, err error) {
	if _, err = d.f.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	names, err = d.f.Readdirnames(most + 1)
	if err == io.EOF {
		err = nil
	}
	slices.Sort(names)
	return names[:min(most, len(names))], len(names) > most, err
}

// Lstat describes a file in it.
func (d Folder) Lstat(name string) (Info, error) { return d.at(name).lstat() }

// OpenRegular opens a regular file in it to read it, as OpenRegular does.
func (d Folder) OpenRegular(name string) (*os.File, Info, error) {
	if _, err := d.Lstat(name); err != nil {
		return nil, Info{}, err
	}
	f, err := d.open(name, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, Info{}, notRegular(name)
	}
	if err != nil {
		return nil, Info{}, err
	}
	info, err := Stat(f)
	if err != nil {
		f.Close()
		return nil, Info{}, err
	}
	return f, info, nil
}

// Put writes a file in it, whole at once and on the disk. It never replaces anything:
// fs.ErrExist when there is one of that name.
func (d Folder) Put(name string, text []byte, mode fs.FileMode) error {
	temp := d.own("new", name, 0)
	fd, err := d.create(temp.name, mode)
	if errors.Is(err, fs.ErrExist) { // of one that a crash interrupted
		if err = unix.Unlinkat(temp.dir, temp.name, 0); err == nil {
			fd, err = d.create(temp.name, mode)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), temp.name)
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil { // whatever our umask is
		err = rename(temp, d.at(name))
	}
	if err != nil {
		_ = unix.Unlinkat(temp.dir, temp.name, 0)
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return d.f.Sync()
}

func (d Folder) create(name string, mode fs.FileMode) (int, error) {
	return unix.Openat(int(d.f.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
}

// Remove removes a file from it. f is the same file, open, as it was checked: when another
// one lies there, or it was written to since, that is left, and the error is ErrChanged.
func (d Folder) Remove(name string, f *os.File, want Identity) error {
	aside := d.own("gone", name, want.Inode)
	if err := move(d.at(name), aside, f, want, nil); err != nil {
		return fmt.Errorf("cannot remove %s: %w", name, err)
	}
	if err := unix.Unlinkat(aside.dir, aside.name, 0); err != nil {
		return fmt.Errorf("cannot remove %s (it is at %s): %w", name, aside.name, err)
	}
	return d.f.Sync()
}

// own is a hidden name of ours in it, for a file on its way.
func (d Folder) own(what, name string, inode uint64) spot {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", inode, name))
	return d.at(ownPrefix + what + "-" + hex.EncodeToString(sum[:8]))
}

func (d Folder) at(name string) spot { return spot{int(d.f.Fd()), name} }

func (d Folder) open(name string, flag int) (*os.File, error) {
	fd, err := unix.Openat(int(d.f.Fd()), name, flag|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
