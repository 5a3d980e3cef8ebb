// Package program runs programs that a person named in custos.toml: to hand them
// something, or to ask them for a secret. No shell reads their arguments.
package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Call is one run of a program.
type Call struct {
	Argv  []string
	Env   []string // all that it learns of our environment, as Environ makes it
	Dir   string   // where it runs; "" is the root
	Stdin []byte
	Max   int // bytes of its output; more is an error
	Heard int // bytes of what it writes to standard error that are kept for a Complaint; 0: nobody reads it, for it may name a secret
}

// Complaint is the error of a program that failed, and said why.
type Complaint struct {
	Err  error
	Says string
}

func (c *Complaint) Error() string { return c.Err.Error() }
func (c *Complaint) Unwrap() error { return c.Err }

// Run runs a program in a process group of its own, and returns what it printed.
// When the program has ended, or ctx has, the whole group is killed.
func Run(ctx context.Context, c Call) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	out, complaint := &capped{max: c.Max, strict: true}, &capped{max: c.Heard}
	cmd.Stdout, cmd.Stdin, cmd.Env, cmd.Dir = out, bytes.NewReader(c.Stdin), c.Env, cmp.Or(c.Dir, "/")
	if c.Heard > 0 {
		cmd.Stderr = complaint
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for whoever left the group and holds our pipes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	waitUnreaped(ctx, cmd.Process.Pid)
	// It is not reaped before Wait, so its number is still that of this group.
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.over:
		return nil, fmt.Errorf("it printed more than %d bytes", c.Max)
	case err != nil && complaint.kept.Len() > 0:
		return nil, &Complaint{err, complaint.kept.String()}
	}
	return out.kept.Bytes(), err
}

// Environ is the environment of such a program: the usual few variables, and those
// that are named.
func Environ(getenv func(string) string, names ...string) []string {
	if getenv == nil {
		getenv = os.Getenv
	}
	env := []string{}
	for _, key := range append([]string{"PATH", "HOME", "LANG"}, names...) {
		if v := getenv(key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
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

// capped keeps the beginning of what is written, and notes when that was not all: a
// strict one fails then, which closes the pipe. The buffer is no embedded field: its
// ReadFrom would take everything, without asking Write.
type capped struct {
	kept   bytes.Buffer
	max    int
	strict bool
	over   bool
}

var errOver = errors.New("it printed too much")

func (c *capped) Write(b []byte) (int, error) {
	if room := c.max - c.kept.Len(); len(b) > room {
		c.over = true
		_, _ = c.kept.Write(b[:max(room, 0)])
		if c.strict {
			return 0, errOver
		}
		return len(b), nil
	}
	return c.kept.Write(b)
}
