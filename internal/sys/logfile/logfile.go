// Package logfile keeps what a program writes to its standard error in a file, too.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// name of the file in its folder; the one before it has the same with ".1".
const name = "custos.log"

// largest the file becomes, in bytes, before the next one is begun.
const largest = 10 << 20

// Beside returns a writer that writes to w, and to a file in a folder, which it makes for
// this user alone; w itself where folder is "". What cannot be written to the file is
// left out there: it was written to w. close closes the file.
func Beside(w io.Writer, folder string) (_ io.Writer, close func(), err error) {
	if folder == "" {
		return w, func() {}, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, fmt.Errorf("cannot keep the log: %w", err)
	}
	f := &file{path: filepath.Join(folder, name), w: w, largest: largest}
	if err := f.open(); err != nil {
		return nil, nil, fmt.Errorf("cannot keep the log: %w", err)
	}
	return f, f.close, nil
}

// file is safe for concurrent use.
type file struct {
	path    string
	largest int64

	mu   sync.Mutex
	w    io.Writer
	to   *os.File // nil where it could not be opened
	size int64
}

// Write implements io.Writer: its result is that of the other writer.
func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size > 0 && f.size+int64(len(p)) > f.largest {
		f.turn()
	}
	if f.to != nil {
		n, _ := f.to.Write(p)
		f.size += int64(n)
	}
	return f.w.Write(p)
}

// turn puts the file aside, over the one before, and begins the next.
func (f *file) turn() {
	f.size = 0 // where it cannot be put aside it is tried again after as much again
	if f.to == nil || os.Rename(f.path, f.path+".1") != nil {
		return
	}
	_ = f.to.Close()
	f.to = nil
	_ = f.open()
}

// open opens the file to write at its end: a regular one, and no link to another.
func (f *file) open() error {
	to, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := to.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", f.path)
	}
	if err != nil {
		return errors.Join(err, to.Close())
	}
	f.to, f.size = to, info.Size()
	return nil
}

func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to != nil {
		_ = f.to.Close()
		f.to = nil
	}
}
