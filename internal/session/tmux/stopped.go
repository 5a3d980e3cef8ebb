package tmux

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"custos/internal/sys/procstat"
)

// errStopped says that the process of a server is stopped by a signal: it was told
// nothing.
var errStopped = errors.New("it is stopped by a signal")

// stopped returns errStopped where the process that listens at a socket is stopped by
// a signal. Whatever connects to that one waits in it until it goes on, and a second
// client in control mode ends it then (tmux 3.3a, 4 of 4), with every agent in it.
// Of whom it cannot be told, it is not said.
func (v *Viewer) stopped(socket string) error {
	at, ok := v.listener(socket)
	if !ok {
		return nil
	}
	return standing(at)
}

// Stopped returns the process of the server at a socket while that is stopped by a signal,
// whether or not anything of anybody is in it; 0 for none, and where that is not seen.
func (v *Viewer) Stopped(socket string) int {
	if at, ok := v.listener(socket); ok && standing(at) != nil {
		return at.PID
	}
	return 0
}

// standing returns errStopped for a process that is stopped.
func standing(at procstat.Stat) error {
	if at.State != 'T' && at.State != 't' {
		return nil
	}
	return fmt.Errorf("%w: process %d (to have it go on: kill -CONT %d)", errStopped, at.PID, at.PID)
}

// listens is who listens at a socket file.
type listens struct {
	device, inode uint64
	made          syscall.Timespec
	pid           int
	start         uint64
}

// listener reads the process that listens at a socket, as the kernel names it. It
// connects for that once for each socket file and process.
func (v *Viewer) listener(socket string) (procstat.Stat, bool) {
	var file syscall.Stat_t
	if err := syscall.Stat(socket, &file); err != nil {
		return procstat.Stat{}, false
	}
	v.listensMu.Lock()
	defer v.listensMu.Unlock()
	known, ok := v.listens[socket]
	ok = ok && known.device == uint64(file.Dev) && known.inode == file.Ino && known.made == file.Mtim
	if !ok {
		known = listens{device: uint64(file.Dev), inode: file.Ino, made: file.Mtim}
	}
	at, err := procstat.Read(v.o.Proc, known.pid)
	if ok && err == nil && at.Start == known.start {
		return at, true
	}
	known.pid = peer(socket)
	if at, err = procstat.Read(v.o.Proc, known.pid); err != nil || known.pid <= 0 {
		delete(v.listens, socket)
		return procstat.Stat{}, false
	}
	known.start = at.Start
	v.listens[socket] = known
	return at, true
}

// peer is the process that began to listen at a socket; 0 where that is not seen from here.
func peer(socket string) (pid int) {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if who, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(who.Pid)
		}
	})
	return pid
}
