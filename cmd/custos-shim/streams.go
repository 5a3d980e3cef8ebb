//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// streams are the agent's standard input, output and error.
type streams struct {
	files [3]*os.File
	input *os.File // our writing end of its FIFO: without it every writer's end would be the agent's end of file
	logs  []*os.File
	tty   *os.File // our own hold on its terminal, to see whether that was closed
}

// roomForInput is what a writer can leave in the FIFO without waiting for the
// agent to read: the largest an unprivileged process may ask for.
const roomForInput = 1 << 20

// headlessStreams opens the logs, and the FIFO when input is wanted. The agent
// writes its logs itself: it never waits for the shim, nor dies of its death.
func headlessStreams(o options) (s streams, err error) {
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if o.input {
		err = s.fifo(filepath.Join(o.dir, "stdin"))
	} else {
		s.files[0], err = os.Open(os.DevNull)
	}
	for i, name := range []string{"stdout.log", "stderr.log"} {
		if err == nil {
			s.files[i+1], err = open(filepath.Join(o.dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND)
		}
	}
	if err != nil {
		return s, fmt.Errorf("cannot open the agent's streams: %w", err)
	}
	for _, name := range []string{"stdout.log", "stderr.log"} {
		f, err := open(filepath.Join(o.dir, name), os.O_RDWR)
		if err != nil {
			return s, fmt.Errorf("cannot open the agent's streams: %w", err)
		}
		s.logs = append(s.logs, f)
	}
	return s, nil
}

func (s *streams) fifo(path string) error {
	if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	r, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.files[0] = os.NewFile(uintptr(r), path)
	w, err := unix.Open(path, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.input = os.NewFile(uintptr(w), path)
	_, _ = unix.FcntlInt(uintptr(r), unix.F_SETPIPE_SZ, roomForInput) // less room only makes writers wait
	return unix.SetNonblock(r, false)
}

// paneStreams takes the terminal that the shim was started on, and gives up
// being its session's leader, so that the agent can be. The kernel then sends
// SIGHUP to ourselves; ignored at that moment, it is gone, while caught it would
// be passed on to the agent. hear, which comes after, catches it again.
func paneStreams() (streams, error) {
	s := streams{files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return streams{}, fmt.Errorf("cannot use standard input as the agent's terminal (without one, say --headless): %w", err)
	}
	if sid, err := unix.Getsid(0); err != nil || sid != os.Getpid() {
		return streams{}, fmt.Errorf("cannot hand over a terminal whose session is led by process %d: start the shim as the first process of a pane", sid)
	}
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return streams{}, fmt.Errorf("cannot hold the terminal: %w", err)
	}
	s.tty = os.NewFile(uintptr(fd), "tty")
	signal.Ignore(unix.SIGHUP)
	if err := unix.IoctlSetInt(0, unix.TIOCNOTTY, 0); err != nil {
		s.tty.Close()
		return streams{}, fmt.Errorf("cannot hand over the terminal: %w", err)
	}
	return s, nil
}

// letGo has the shim's own standard streams point nowhere, so that the pane is
// the agent's alone.
func (s *streams) letGo() {
	if s.tty == nil {
		s.close()
		return
	}
	if null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
		unix.Close(null)
	}
}

// close closes what was opened for the agent.
func (s *streams) close() {
	for _, f := range s.files {
		if f != nil {
			f.Close()
		}
	}
}

// closeInput has the agent read end of file.
func (s *streams) closeInput() {
	if s.input != nil {
		s.input.Close()
	}
}

// hungUp says whether the agent's terminal was closed, and lets go of it.
func (s *streams) hungUp() bool {
	if s.tty == nil {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(s.tty.Fd()), Events: 0}}
	n, err := unix.Poll(fds, 0)
	s.tty.Close()
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// attributes are those of the agent's process: the leader of a session of its
// own, and of its terminal's when it has one.
func (s *streams) attributes(p place) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: s.tty != nil, Ctty: 0}
	if p.folder != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(p.folder.Fd())
	}
	return attr
}
