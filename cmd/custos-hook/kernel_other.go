//go:build !linux

package main

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// readable waits for the standard input to have something, or its end.
func readable(wait time.Duration) (bool, error) {
	for {
		var set unix.FdSet
		set.Set(0)
		tv := unix.NsecToTimeval(max(wait, 0).Nanoseconds())
		n, err := unix.Select(1, &set, nil, nil, &tv)
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}

// asStdin makes a file the standard input.
func asStdin(fd int) error { return unix.Dup2(fd, 0) }
