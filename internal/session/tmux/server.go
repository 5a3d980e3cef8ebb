package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
)

// sockets returns the sockets to ask: the configured ones, the one Custos runs
// in, and those found, each once.
func (v *Viewer) sockets() ([]string, error) {
	all := slices.Clone(v.o.Sockets)
	if path, _, ok := strings.Cut(v.o.Inside, ","); ok && path != "" {
		all = append(all, path)
	}
	var err error
	if v.o.Discover {
		var found []string
		found, err = v.discover()
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// discover lists the sockets of our user where tmux puts them. A folder that
// belongs to another user is not looked into: its sockets would lead to a server
// that says what it likes.
func (v *Viewer) discover() ([]string, error) {
	dir := filepath.Join(v.o.TMPDir, "tmux-"+strconv.Itoa(v.o.UID))
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !v.own(info, fs.ModeDir) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for tmux sockets: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot look for tmux sockets: %w", err)
	}
	var found []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && v.own(info, fs.ModeSocket) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}

func (v *Viewer) own(info fs.FileInfo, kind fs.FileMode) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == v.o.UID && info.Mode().Type() == kind
}

// draining is how long a client that has ended may leave what it wrote unread: on a machine
// that is busy, who reads it may not get to run for a tenth of a second.
const draining = time.Second

// ask runs one tmux client against one server and returns what it printed. A
// server that is gone is session.ErrAbsent. The other errors name the socket.
func (v *Viewer) ask(ctx context.Context, socket string, args ...string) ([]byte, error) {
	name := fleet.Path(socket)
	if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
		return nil, session.ErrAbsent // however long its path: nothing has to be asked
	}
	if err := v.stopped(socket); err != nil {
		return nil, fmt.Errorf("cannot ask tmux server %s: %w", name, err)
	}
	program, err := v.program()
	if err != nil {
		if alive(socket) {
			return nil, fmt.Errorf("cannot ask tmux server %s: there is no tmux program: %w", name, err)
		}
		return nil, session.ErrAbsent
	}
	ctx, cancel := context.WithTimeoutCause(ctx, v.deadline, fmt.Errorf("no answer within %s", v.deadline))
	defer cancel()
	// -u: without it the client replaces what is not ASCII; -f: should a server
	// ever start, it reads no person's configuration.
	cmd := exec.CommandContext(ctx, program, append([]string{"-u", "-S", socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = draining
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot ask tmux server %s: %w", name, context.Cause(ctx))
	case isGone(socket):
		return nil, session.ErrAbsent
	}
	return out.Bytes(), fmt.Errorf("cannot ask tmux server %s: %s: %w", name, fleet.Line(errs.String(), 200), err)
}

// isGone says whether no process listens at a socket: there is no file, or the file
// outlived its server. It is asked only after a client has failed, because a
// connection, short as it is, shows up in the server.
func isGone(socket string) bool {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

func alive(socket string) bool {
	info, err := os.Stat(socket)
	return err == nil && info.Mode().Type() == fs.ModeSocket && !isGone(socket)
}
