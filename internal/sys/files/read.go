package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotRegular says that a path names no regular file: a link, a folder, a
// pipe, a device.
var ErrNotRegular = errors.New("not a regular file")

// Identity is what must be unchanged for a file to be the same one.
type Identity struct {
	Device uint64
	Inode  uint64
	MTime  int64 // nanoseconds since 1970
	Size   int64 // bytes
}

// Info is what the file system says of a file.
type Info struct {
	Identity
	Links  uint64
	UID    uint32
	GID    uint32
	Mode   fs.FileMode // permission bits
	Blocks int64       // bytes really taken on disk
	// Changed is when it, its name, its place or its mode was changed last, by the
	// kernel's own word: nanoseconds since 1970. Unlike MTime no program can set it.
	Changed int64
}

// Modified returns the time of the last change.
func (i Identity) Modified() time.Time { return time.Unix(0, i.MTime) }

// Age returns how long ago then was. A time up to two seconds ahead is now, for
// clocks of file systems are coarse; one further ahead is an error: a person or program
// set the clock back, or the time of the file.
func Age(now, then time.Time) (time.Duration, error) {
	d := now.Sub(then)
	if d < -2*time.Second {
		return 0, errors.New("its time lies in the future")
	}
	return max(0, d), nil
}

// Same says whether both are one file, changed or not.
func (i Identity) Same(o Identity) bool { return i.Device == o.Device && i.Inode == o.Inode }

// OpenRegular opens a regular file without following a link at its end and
// without waiting for anything; flag is os.O_RDONLY or os.O_RDWR. It fails with
// ErrNotRegular for anything else, which is never opened in a way that could
// disturb it, and with fs.ErrNotExist when there is nothing.
func OpenRegular(path string, flag int) (*os.File, Info, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, Info{}, err
	} else if !info.Mode().IsRegular() {
		return nil, Info{}, notRegular(path)
	}
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, Info{}, notRegular(path)
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

func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}

// Stat describes an open file; ErrNotRegular when it is none.
func Stat(f *os.File) (Info, error) {
	var st unix.Stat_t
	conn, err := f.SyscallConn()
	if err != nil {
		return Info{}, err
	}
	var stat error
	if err := conn.Control(func(fd uintptr) { stat = unix.Fstat(int(fd), &st) }); err != nil {
		return Info{}, err
	}
	if stat != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: stat}
	}
	return info(&st, f.Name())
}

// Lstat describes the file a path names, and follows no link.
func Lstat(path string) (Info, error) { return lstatAt(unix.AT_FDCWD, path) }

// lstatAt is Lstat of a name in an open folder.
func lstatAt(dir int, name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return info(&st, name)
}

func info(st *unix.Stat_t, path string) (Info, error) {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Info{}, notRegular(path)
	}
	return Info{
		Identity: Identity{Device: uint64(st.Dev), Inode: st.Ino, MTime: st.Mtim.Nano(), Size: st.Size},
		Links:    uint64(st.Nlink), UID: st.Uid, GID: st.Gid,
		Mode: fs.FileMode(st.Mode & 0o777), Blocks: st.Blocks * 512, Changed: st.Ctim.Nano(),
	}, nil
}

// Head reads at most n bytes from the start of a file.
func Head(f io.ReaderAt, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("cannot read: %w", err)
	}
	return b[:got], nil
}

// Tail returns the last lines of a file that is size bytes long, reading no
// more than window bytes: at most lines of them, oldest first. A line that
// began before the window is left out, because half a line cannot be redacted.
func Tail(f io.ReaderAt, size int64, lines, window int) ([]string, error) {
	from := max(0, size-int64(window))
	b := make([]byte, size-from)
	got, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("cannot read the end: %w", err)
	}
	text := string(b[:got])
	if from > 0 {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return []string{fmt.Sprintf("(one line of more than %d bytes)", window)}, nil
		}
		text = rest
	}
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return []string{}, nil
	}
	all := strings.Split(text, "\n")
	return all[max(0, len(all)-lines):], nil
}
