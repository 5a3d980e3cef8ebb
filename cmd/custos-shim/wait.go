//go:build linux

package main

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// end is how one child ended.
type end struct {
	pid    int
	code   int32 // cldExited, cldKilled or cldDumped
	status int   // exit status, or signal
	usage  unix.Rusage
}

// The codes of SIGCHLD (siginfo_t.si_code) for a child that ended.
const (
	cldExited = 1
	cldDumped = 3
)

// siginfo is siginfo_t of a SIGCHLD on 64-bit Linux.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// awaitChild waits until some child has ended and leaves it a zombie, so that
// what the kernel knows of it can still be read by others. It fails with ECHILD
// when there is no child, and hence no descendant, left.
func awaitChild() (end, error) {
	for {
		var info siginfo
		var e end
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, &e.usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		e.pid, e.code, e.status = int(info.pid), info.code, int(info.status)
		return e, err
	}
}

// reap takes away a zombie.
func reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// supervise waits for the agent, writes down how it ended, and stays until its
// last descendant is gone. It returns the shim's own exit status: the agent's,
// or 128 + signal.
func (s *shim) supervise() int {
	code := 0
	for {
		e, err := awaitChild()
		switch {
		case errors.Is(err, unix.ECHILD):
			s.leave()
			return code
		case err != nil:
			time.Sleep(time.Second) // cannot happen; above all, do not spin
		case e.pid == s.agent.PID:
			code = s.ended(e)
		default:
			reap(e.pid)
		}
		if s.isOver() {
			s.writeLeft()
		}
	}
}

// ended writes exit.json while the agent is still a zombie: at every moment
// either /proc or the file tells how it ended. Should the disk refuse, the
// zombie stays until it does not.
func (s *shim) ended(e end) int {
	x, code := s.judge(e)
	for s.exit.fill(x) != nil {
		time.Sleep(time.Second)
	}
	s.mu.Lock()
	reap(e.pid)
	s.over, s.code = true, code
	s.mu.Unlock()
	s.exit.settle()
	return code
}

func (s *shim) judge(e end) (exited, int) {
	x := exited{
		V: recordVersion, Key: s.o.key, Agent: s.agent, Hangup: s.streams.hungUp(), At: now(s.boot),
		MaxRSS: e.usage.Maxrss << 10, CPU: e.usage.Utime.Nano() + e.usage.Stime.Nano(),
	}
	if e.code == cldExited {
		x.Status, x.OOM = &e.status, s.place.oom(relayed(e.status))
		return x, e.status
	}
	x.Signal, x.Core, x.OOM = &e.status, e.code == cldDumped, s.place.oom(e.status)
	return x, 128 + e.status
}
