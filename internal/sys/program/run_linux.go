package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs a program in a process group of its own, and returns what it printed, also of
// one that failed. When the program has ended, has printed too much, or ctx has ended, the
// whole group is killed, or what Call.End says.
func Run(ctx context.Context, c Call) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, complaint := &capped{max: c.Max, full: func() { stop(TooMuch(c.Max)) }}, &capped{max: c.Heard}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Stdout, cmd.Stdin, cmd.Env, cmd.Dir = out, bytes.NewReader(c.Stdin), c.Env, cmp.Or(c.Dir, "/")
	if c.Heard > 0 {
		cmd.Stderr = complaint
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.End == nil, Setsid: c.End != nil}
	cmd.WaitDelay = time.Second // for what left the group and holds our pipes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	waitUnreaped(ctx, cmd.Process.Pid)
	cause := context.Cause(ctx)
	c.end(cmd.Process.Pid) // it is not reaped before Wait: its number is still its own
	err := cmd.Wait()
	printed, over := out.all()
	switch said, _ := complaint.all(); {
	case over:
		return nil, TooMuch(c.Max)
	case cause != nil:
		return nil, cause
	case err != nil && len(said) > 0:
		return printed, &Complaint{err, string(said)}
	}
	return printed, err
}

func (c Call) end(leader int) {
	if c.End != nil {
		c.End(leader)
		return
	}
	_ = unix.Kill(-leader, unix.SIGKILL)
}

// waitUnreaped returns when the child has ended, or ctx has.
func waitUnreaped(ctx context.Context, pid int) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// capped keeps the beginning of what is written, drops the rest, and calls full once. It
// may still be written to when it is read: by what escaped, and holds the pipe.
type capped struct {
	max  int
	full func()

	mu   sync.Mutex
	kept bytes.Buffer
	over bool
}

func (c *capped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := max(c.max-c.kept.Len(), 0)
	if len(b) > room && !c.over && c.full != nil {
		c.full()
	}
	c.over = c.over || len(b) > room
	_, _ = c.kept.Write(b[:min(len(b), room)])
	return len(b), nil
}

func (c *capped) all() (kept []byte, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.kept.Bytes()), c.over
}
