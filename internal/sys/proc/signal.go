package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone says that the process has ended, or that its pid belongs to another
// process by now. It cannot be undone: a process never comes back.
var ErrGone = errors.New("process has ended")

// Handle holds on to one very process through a pidfd: a signal sent by it
// reaches that process or none. It is for one goroutine at a time.
type Handle struct {
	id   ID
	file *os.File
	seen seen // everything Tree has found
}

// Open takes hold of a process. It fails with ErrGone when the process has
// ended (a zombie has), or when its pid has been given to another one, and for
// pid 1 and what is no pid at all.
func Open(id ID) (*Handle, error) {
	if id.PID <= 1 {
		return nil, fmt.Errorf("cannot take hold of process %d: never this one", id.PID)
	}
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("cannot take hold of process %d: %w", id.PID, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take hold of process %d: %w", id.PID, err)
	}
	h := &Handle{id: id, file: os.NewFile(uintptr(fd), "pidfd"), seen: seen{id.PID: id.Start}}
	if err := h.check(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// check compares the start time after the pidfd was opened: the process that has the pid
// now had it when the pidfd was opened, because the one that is meant began earlier.
func (h *Handle) check() error {
	row, err := readRow(h.id.PID)
	if err != nil {
		return err
	}
	if row.ID != h.id {
		return fmt.Errorf("cannot take hold of process %d: its pid was reused: %w", h.id.PID, ErrGone)
	}
	if h.Ended() {
		return fmt.Errorf("cannot take hold of process %d: %w", h.id.PID, ErrGone)
	}
	return nil
}

// ID returns the process that is held.
func (h *Handle) ID() ID { return h.id }

// Close lets go of it.
func (h *Handle) Close() { _ = h.file.Close() }

// Signal sends sig to this process alone; ErrGone when it has ended.
func (h *Handle) Signal(sig syscall.Signal) error {
	var sent error
	err := h.control(func(fd int) { sent = unix.PidfdSendSignal(fd, sig, nil, 0) })
	if err == nil {
		err = sent
	}
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("cannot signal process %d: %w", h.id.PID, ErrGone)
	}
	if err != nil {
		return fmt.Errorf("cannot send %s to process %d: %w", unix.SignalName(sig), h.id.PID, err)
	}
	return nil
}

// MaySignal says whether the kernel lets us signal a process; of one that has ended, too.
func MaySignal(id ID) bool {
	h, err := Open(id)
	if err != nil {
		return errors.Is(err, ErrGone)
	}
	defer h.Close()
	err = h.Signal(0)
	return err == nil || errors.Is(err, ErrGone)
}

// Ended says whether the process has ended, reaped or not.
func (h *Handle) Ended() bool {
	over := false
	if err := h.control(func(fd int) { over = readable(fd) }); err != nil {
		return false
	}
	return over
}

// Wait returns nil as soon as the process has ended, and the error of ctx if
// that ends first. It sleeps in the runtime's poller, and does not poll.
func (h *Handle) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := h.file.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("cannot wait for process %d: %w", h.id.PID, err)
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = h.file.SetReadDeadline(time.Unix(1, 0)) // wakes the read below
		close(woken)
	})
	err := h.read()
	if !stop() {
		<-woken // or its deadline would hit the next Wait
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (h *Handle) read() error {
	conn, err := h.file.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool { return readable(int(fd)) })
	}
	if err != nil {
		return fmt.Errorf("cannot wait for process %d: %w", h.id.PID, err)
	}
	return nil
}

func (h *Handle) control(do func(fd int)) error {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { do(int(fd)) })
}

// readable says whether the pidfd reports an end.
func readable(fd int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
		}
	}
}
