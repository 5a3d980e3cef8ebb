//go:build !custos_client

package hookwire

import (
	"syscall"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME of linux/time.h; package syscall has no name for it

// upNanos is for how long this boot runs.
func upNanos() int64 {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return ts.Nano()
}

// noSignal keeps a listener that is gone from sending us a signal.
const noSignal = syscall.MSG_NOSIGNAL

func socket() (int, error) {
	return syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}
