package git

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is what tells one folder from another at the same path.
type Folder struct {
	Device uint64
	Inode  uint64
	Born   int64  // nanoseconds since 1970; 0 where its file system does not tell
	Common string // git folder of the repository whose worktree it is; "" for none, and for one that cannot be read
	GitDir string // its own git folder there
}

// FolderAt reads which folder a path leads to, past all links, by files alone.
func FolderAt(path string) (Folder, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Folder{}, fmt.Errorf("cannot look at folder %q: %w", path, err)
	}
	f, err := numbered(real)
	if err != nil {
		return Folder{}, err
	}
	if p, err := At(real); err == nil {
		f.Common, f.GitDir = p.Common, p.GitDir
	}
	return f, nil
}

// numbered asks the file system.
func numbered(path string) (Folder, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_NO_AUTOMOUNT, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return Folder{}, &fs.PathError{Op: "statx", Path: path, Err: err}
	}
	f := Folder{Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		f.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return f, nil
}
