//go:build !linux || custos_client

package hookwire

import "syscall"

// upNanos is 0, not known: no clock here is that of the boot which a daemon counts by.
func upNanos() int64 { return 0 }

// noSignal is no flag: a write to a listener that is gone is an error in any program of Go.
const noSignal = 0

func socket() (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}
