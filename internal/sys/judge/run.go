package judge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Marker is the variable in the environment of a CLI that is asked to judge, and
// of all that it starts.
const Marker = "CUSTOS_JUDGE"

// maxComplaint is how much of a program's standard error is kept, in bytes.
const maxComplaint = 4 << 10

// passed are the variables any program started here may see: enough to find
// itself, its home, its login and its proxy, and nothing that makes it an agent
// of Custos or tells it where the caller works.
const passed = "PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TZ TMPDIR " +
	"XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS " +
	"SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"

// environment returns the allowed part of our own.
func environment(more []string) []string {
	env := []string{}
	for _, name := range append(strings.Fields(passed), more...) {
		if v, there := os.LookupEnv(name); there {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// program is one run of a program, in a session and process group of its own.
type program struct {
	argv  []string
	env   []string
	dir   string
	stdin string
	max   int // bytes of output
}

// exitError says that a program ran and did not end well.
type exitError struct {
	how    string // "exit status 1", "signal: killed"
	stderr string
}

func (e *exitError) Error() string {
	if said := line(e.stderr, 200); said != "" {
		return e.how + ": " + said
	}
	return e.how
}

// run returns what the program printed; with an *exitError too. When it has
// ended, printed too much, or ctx has ended, it and all it started are killed.
func (p program) run(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &capped{max: p.max, full: func() { stop(ErrTooMuch) }}
	complaint := &capped{max: maxComplaint}
	marker := newMarker()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, append(p.env, marker), strings.NewReader(p.stdin)
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // for whoever is beyond our reach and holds the pipes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	waitUnreaped(ctx, cmd.Process.Pid)
	cause := context.Cause(ctx)
	killTree(cmd.Process.Pid, marker)
	err := cmd.Wait()
	printed, over := out.all()
	if cause == nil && over {
		cause = ErrTooMuch
	}
	if cause != nil {
		return nil, cause
	}
	return printed, ended(err, complaint)
}

func ended(err error, complaint *capped) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		said, _ := complaint.all()
		return &exitError{how: exit.String(), stderr: string(said)}
	}
	return err
}

// newMarker is an entry of the environment that only one run has.
func newMarker() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, as its documentation has it
	return Marker + "=" + hex.EncodeToString(b)
}

// waitUnreaped returns when the child has ended, or ctx has. The child's number
// stays its own, and that of its session, until it is waited for.
func waitUnreaped(ctx context.Context, pid int) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// capped keeps the beginning of what is written, and drops the rest. It may still
// be written to when it is read: by whoever escaped, and holds the pipe.
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
	if room := c.max - c.kept.Len(); len(b) > room {
		_, _ = c.kept.Write(b[:room])
		if !c.over && c.full != nil {
			c.full()
		}
		c.over = true
		return len(b), nil
	}
	return c.kept.Write(b)
}

func (c *capped) all() (kept []byte, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.kept.Bytes()), c.over
}
