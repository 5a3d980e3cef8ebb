//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The agent may put what it likes in place of a file of the shim's: a pipe that is waited
// for without end, a link to any file. What follows waits for none and follows none.

// create makes a new file. What lies at its path is taken away, and never opened.
func create(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// writeFile makes a new file with a text.
func writeFile(path string, text []byte) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// open opens a file, and nothing else.
func open(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file: remove it", path)
	}
	if err == nil {
		err = unix.SetNonblock(int(f.Fd()), false) // an agent that it is handed to sees a file as any
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readFile(path string) ([]byte, error) {
	f, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
