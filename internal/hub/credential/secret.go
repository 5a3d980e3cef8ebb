package credential

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ErrOpen says that a secret is not this user's alone.
var ErrOpen = errors.New("it holds a key")

// mostSecret bytes are read of a secret: chosen, a file of this package has about one KiB.
const mostSecret = 1 << 20

// ReadSecret reads a file that only this user may read or change; of any other the error is an ErrOpen. A link is
// followed: what it leads to counts.
func ReadSecret(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe in its place is not waited for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = onlyOurs(path, info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, mostSecret))
}

// onlyOurs refuses what anybody but this user may read or change.
func onlyOurs(path string, info os.FileInfo) error {
	of, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	case !known || int(of.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user, and %w: run this as that user, or chown it and chmod 600 %s", path, ErrOpen, path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users, and %w: chmod 600 %s", path, ErrOpen, path)
	}
	return nil
}

// WriteSecret writes a file for this user only, in a folder for this user only that is made where
// it is missing: whole, or not at all.
func WriteSecret(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of %s: %w", path, err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-") // of mode 0600
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
