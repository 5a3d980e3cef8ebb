package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/onewriter"
	"custos/internal/server"
	"custos/internal/sys/files"
	"custos/internal/sys/presence"
	"custos/internal/sys/proc"
	"custos/internal/sys/procstat"
)

// Verify says whether the process at the other end of a connection holds the lock of
// the one writer, or is the daemon whose lock was taken away. Whoever listens at the socket without it is no Custos: what it
// answers is not believed, and it is told nothing. One that has ended since the connection
// was made is nobody: a daemon gives up its lock and its socket one after the other.
func Verify(cfg config.Config, conn net.Conn) error {
	peer, err := server.PeerOf(conn)
	if err != nil {
		return err
	}
	if peer.PID > 0 {
		holders, err := files.LockHolders(filepath.Join(cfg.RuntimeDir, "lock"))
		if err != nil && presence.Find(cfg.StateDir) != peer.PID {
			return fmt.Errorf("cannot tell whether process %d, which listens at %s, is Custos: %w", peer.PID, Socket(cfg), err)
		}
		if slices.Contains(holders, peer.PID) || presence.Find(cfg.StateDir) == peer.PID {
			return nil
		}
		if isOver(conn, peer.PID) {
			return &api.Error{Kind: api.Unreachable, Hint: "custos up",
				Message: fmt.Sprintf("cannot reach the daemon at %s: process %d, which listened there, has just ended", Socket(cfg), peer.PID)}
		}
	}
	return fmt.Errorf("process %d listens at %s and does not hold the lock: it is no Custos, and nothing it says is believed", peer.PID, Socket(cfg))
}

// isOver says whether the process at the other end of a connection is gone, or on its
// way out: it has closed the connection, or the kernel says so.
func isOver(conn net.Conn, pid int) bool {
	if isHungUp(conn) {
		return true
	}
	if _, err := proc.Holder(pid); errors.Is(err, proc.ErrGone) {
		return true
	}
	s, err := procstat.Read("/proc", pid)
	return err == nil && (s.Ended() || s.Exiting)
}

// isHungUp says whether nobody is at the other end of a connection any more.
func isHungUp(conn net.Conn) (up bool) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		at := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(at, 0)
		up = err == nil && n == 1 && at[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return up
}

// Holder returns the process of the daemon; 0 when there is none, or it cannot be told.
func Holder(cfg config.Config) int {
	if pid := presence.Find(cfg.StateDir); pid != 0 {
		return pid
	}
	if !onewriter.DaemonHolds(cfg) {
		return 0
	}
	holders, err := files.LockHolders(filepath.Join(cfg.RuntimeDir, "lock"))
	if err != nil || len(holders) != 1 {
		return 0
	}
	return holders[0]
}

// How long a daemon that does not answer is given to end by itself, and to be gone
// once it was killed.
const (
	endWait  = 5 * time.Second
	killWait = 10 * time.Second
)

// End ends a daemon that does not answer: it is told to end, and killed when it does
// not. What it had begun is in doubt then, and told by the next one; agents live on.
// It is refused to agents as far as they are known without a look at the fleet.
func End(ctx context.Context, cfg config.Config) (how string, err error) {
	if err := NoAgentHere(cfg, "stop the daemon"); err != nil {
		return "", err
	}
	pid, gone := awaitHolder(ctx, cfg)
	if gone {
		return "the daemon had just ended", nil
	}
	h, err := holdDaemon(cfg, pid)
	if errors.Is(err, proc.ErrGone) {
		return fmt.Sprintf("process %d had just ended", pid), nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot stop the daemon: %w", err)
	}
	defer h.Close()
	socket, _ := os.Lstat(Socket(cfg))
	for _, s := range []struct {
		signal syscall.Signal
		how    string
		wait   time.Duration
	}{{syscall.SIGTERM, "told to end", endWait}, {syscall.SIGKILL, "killed", killWait}} {
		if err := h.Signal(s.signal); err != nil && !errors.Is(err, proc.ErrGone) {
			return "", fmt.Errorf("cannot stop the daemon: %w", err)
		}
		within, cancel := context.WithTimeout(ctx, s.wait)
		err := h.Wait(within)
		cancel()
		switch {
		case err == nil:
			return fmt.Sprintf("process %d did not answer and was %s", pid, s.how), clearSocket(cfg, socket)
		case ctx.Err() != nil:
			return "", cutShort(pid, s.how)
		}
	}
	return "", fmt.Errorf("cannot stop the daemon: process %d is still there after a kill", pid)
}

// awaitHolder finds the process of the daemon. One that is just ending gives up what it is
// known by one after the other, and is known by nothing for a moment: either it has gone then, or
// another has begun.
func awaitHolder(ctx context.Context, cfg config.Config) (pid int, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if pid := Holder(cfg); pid != 0 {
			return pid, false
		}
		if !onewriter.DaemonHolds(cfg) && Untold(cfg) == "" {
			return 0, true
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return 0, false
}

// cutShort says how it stands with a daemon whose end nobody waits for any more. It is not
// killed for that: it has not had the time to end by itself.
func cutShort(pid int, how string) error {
	return &api.Error{Kind: api.CannotLook, Hint: "custos health; custos down",
		Message: fmt.Sprintf("interrupted: process %d, which does not answer, was %s and had not ended yet: it ends as soon as it can, and custos down kills one that does not", pid, how)}
}

// clearSocket removes the socket that a daemon that was killed has left, as it was before,
// and none that the next one has made by now. Where it may not be touched the next one
// finds it, and makes its own in its place.
func clearSocket(cfg config.Config, was os.FileInfo) error {
	if was == nil || server.SocketTrouble(Socket(cfg), was) != "" {
		return nil
	}
	if err := os.Remove(Socket(cfg)); err != nil && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("cannot remove the socket: %w", err)
	}
	return nil
}

// holdDaemon takes hold of the process of the daemon, and makes sure that it is that
// still.
func holdDaemon(cfg config.Config, pid int) (*proc.Handle, error) {
	if pid == 0 {
		return nil, errors.New("it cannot be told which process it is")
	}
	is, err := proc.Holder(pid)
	if err != nil {
		return nil, err
	}
	h, err := proc.Open(is.ID)
	if err != nil {
		return nil, err
	}
	if Holder(cfg) != pid {
		h.Close()
		return nil, fmt.Errorf("process %d is no longer the daemon", pid)
	}
	if is.ID.PID == os.Getpid() {
		h.Close()
		return nil, errors.New("it is this very process")
	}
	return h, nil
}
