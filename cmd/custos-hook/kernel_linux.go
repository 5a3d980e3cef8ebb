package main

import (
	"errors"
	"syscall"
	"time"
)

// readable waits for the standard input to have something, or its end.
func readable(wait time.Duration) (bool, error) {
	for {
		var set syscall.FdSet
		set.Bits[0] = 1
		tv := syscall.NsecToTimeval(max(wait, 0).Nanoseconds())
		n, err := syscall.Select(1, &set, nil, nil, &tv)
		if !errors.Is(err, syscall.EINTR) {
			return n > 0, err
		}
	}
}

// asStdin makes a file the standard input.
func asStdin(fd int) error { return syscall.Dup3(fd, 0, 0) }
