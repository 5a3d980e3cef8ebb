package extra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

// What a program may print. A megabyte is some ten thousand facts.
const (
	maxOut = 1 << 20
	maxErr = 4 << 10
)

var errTooMuch = fmt.Errorf("it printed more than %d bytes", maxOut)

// run runs a program in a process group of its own and returns what it printed.
// When the program has ended, or ctx has, the whole group is killed.
func run(ctx context.Context, argv, env []string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	out, complaint := &capped{max: maxOut, strict: true}, &capped{max: maxErr}
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = out, complaint, env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for whoever left the group and holds our pipes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	waitUnreaped(ctx, cmd.Process.Pid)
	// The program is not reaped before Wait, so its number is still that of this
	// group and of no other.
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.over:
		return nil, errTooMuch
	case err != nil && complaint.kept.Len() > 0:
		return nil, fmt.Errorf("%w: %s", err, fleet.Redact(fleet.Line(complaint.kept.String(), 200)))
	}
	return out.kept.Bytes(), err
}

// waitUnreaped returns when the child has ended, or ctx has.
func waitUnreaped(ctx context.Context, pid int) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// capped keeps the beginning of what is written. Past max a strict one fails,
// which closes the pipe; another drops the rest. The buffer is no embedded
// field: its ReadFrom would take everything, without asking Write.
type capped struct {
	kept   bytes.Buffer
	max    int
	strict bool
	over   bool
}

func (c *capped) Write(b []byte) (int, error) {
	room := c.max - c.kept.Len()
	if len(b) <= room {
		return c.kept.Write(b)
	}
	c.over = true
	if c.strict {
		return 0, errTooMuch
	}
	_, _ = c.kept.Write(b[:room])
	return len(b), nil
}
