package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrTooLarge says that a file has more bytes than any of Custos's own has.
var ErrTooLarge = errors.New("too large")

// The files of Custos's own lie where every process of its user may put something else
// in their place, as agents are: a pipe that is waited for without end, a link to a device.
// So they are opened by what follows, and by nothing else (internal/arch).

// oddity is what lies where a file of Custos's own belongs.
type oddity struct{ path, what string }

func (o oddity) Error() string { return o.path + " is " + o.what + ", not a file: remove it" }

func (o oddity) Unwrap() error { return ErrNotRegular }

// kindOf names what a path is, where that is no file.
func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeSymlink:
		return "a link"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// Plain says what lies at a path of Custos's own that is no file; nil when it is one, or none.
func Plain(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return oddity{path, kindOf(info.Mode())}
	}
	return nil
}

// odd says of an error what lies at the path, when that is why.
func odd(path string, err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(Plain(path), err)
}

// Read reads a file of Custos's own, of at most so many bytes. It waits for nothing and
// follows no link. What is no file, or larger, is an error that says what to do.
func Read(path string, most int64) ([]byte, error) {
	f, err := OpenPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes and is no file of Custos's: remove it: %w", path, most, ErrTooLarge)
	}
	return text, err
}

// ReadOthers reads a file that is not Custos's own, as a person names it: through links, of at
// most so many bytes. It waits for nothing, and what is no file is none.
func ReadOthers(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("it is no file of at most %d bytes", most)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// OpenPlain opens a file of Custos's own to read it, as Read does.
func OpenPlain(path string) (*os.File, error) {
	f, _, err := OpenRegular(path, os.O_RDONLY)
	return f, odd(path, err)
}

// Write writes a file of Custos's own anew, in its place; into what is no file it writes
// nothing.
func Write(path string, text []byte, mode fs.FileMode) error {
	f, err := OpenToWrite(path, os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// OpenToWrite opens a file of Custos's own to write it, and makes it where there is none;
// flag is os.O_TRUNC, os.O_APPEND or os.O_EXCL. What is no file is not opened, and not waited for.
func OpenToWrite(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if err := Plain(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
	if err != nil {
		return nil, odd(path, err)
	}
	if _, err := Stat(f); err != nil { // it was put there since
		f.Close()
		return nil, odd(path, err)
	}
	return f, nil
}

// Replace puts a new file in the place of one of Custos's own, whole at once and on the
// disk, and of whatever else but a folder lies there.
func Replace(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
