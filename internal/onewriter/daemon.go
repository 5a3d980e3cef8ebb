package onewriter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/presence"
)

// turnover is how long a daemon waits for the lock: for one that is on its way out, and for
// the glance of DaemonHolds.
const turnover = time.Second

// oneCommand is how long a daemon waits for a command that writes to end.
const oneCommand = 30 * time.Second

// WaitFor is how long to wait for the lock: little for another daemon, a while for a
// command that is short.
func WaitFor(cfg config.Config, tell io.Writer) time.Duration {
	who := Holder(filepath.Join(cfg.RuntimeDir, "lock"))
	if busy, err := files.LockHolders(filepath.Join(cfg.RuntimeDir, "lock")); err != nil || len(busy) == 0 || strings.HasPrefix(who, Daemon+",") {
		return turnover
	}
	fmt.Fprintf(tell, "waiting for %s\n", fleet.Line(who, 200))
	return oneCommand
}

// DaemonHolds says whether the lock in the run folder is held by a daemon.
func DaemonHolds(cfg config.Config) bool {
	name := filepath.Join(cfg.RuntimeDir, "lock")
	if who := Holder(name); who != Nobody && !strings.HasPrefix(who, Daemon+",") {
		return false // or it would get in the way of a command that is short
	}
	f, err := files.OpenPlain(name)
	if err != nil {
		return false
	}
	defer f.Close() // and with it goes what was locked here
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Untold says why it cannot be told whether a daemon runs; "" when it can. None is found
// where the lock may not be looked at, and that is no proof that there is none.
func Untold(cfg config.Config) string {
	if presence.Find(cfg.StateDir) != 0 {
		return ""
	}
	f, err := files.OpenPlain(filepath.Join(cfg.RuntimeDir, "lock"))
	switch {
	case err == nil:
		_ = f.Close()
		return ""
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ""
	}
	return fmt.Sprintf("whether a daemon runs cannot be told: %v", err)
}
