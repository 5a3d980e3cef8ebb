// Package presence says that a process lives, to what looks for the one of the same
// key, whatever becomes of its files: in go a key and who looks, out comes a process. It
// is a socket that has a name and no file (unix(7), abstract), and goes with the process.
// It serves nothing: who holds it is all that there is to know.
package presence

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Presence is what a process has claimed.
type Presence struct{ names []net.Listener }

// errTaken says that another process of this user has claimed it.
var errTaken = errors.New("another process has claimed it")

// names are those of a folder: by the path that the configuration names, and by where that
// leads, for a link may be gone later. They tell apart users and pid namespaces, as of
// containers that share a network.
func names(folder string) []string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		space = "unknown"
	}
	paths := []string{filepath.Clean(folder)}
	if real, err := filepath.EvalSymlinks(folder); err == nil && real != paths[0] {
		paths = append(paths, real)
	}
	for i, path := range paths {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", os.Geteuid(), space, path))
		paths[i] = fmt.Sprintf("@custos-%x", sum[:16])
	}
	return paths
}

// Claim says that this process is the daemon of a folder. It fails with ErrTaken when
// another one is. A name that another user has taken cannot be ours, and says nothing of us.
func Claim(folder string) (*Presence, error) {
	p := &Presence{}
	for _, name := range names(folder) {
		l, err := net.Listen("unix", name)
		switch {
		case err == nil:
			p.names = append(p.names, l)
			go answerNobody(l)
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, errors.Join(fmt.Errorf("cannot say that a daemon lives: %w", err), p.Release())
		case listensAt(name) != 0:
			return nil, errors.Join(errTaken, p.Release())
		}
	}
	return p, nil
}

// answerNobody keeps those who look from filling the queue of those who wait.
func answerNobody(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no file descriptor is left, for one
			time.Sleep(100 * time.Millisecond)
			continue
		}
		_ = conn.Close()
	}
}

// Release takes it back; nil has nothing to take back.
func (p *Presence) Release() (err error) {
	if p == nil {
		return nil
	}
	for _, l := range p.names {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Find is the process of the daemon of a folder; 0 when there is none, or it cannot be told.
func Find(folder string) int {
	for _, name := range names(folder) {
		if pid := listensAt(name); pid != 0 {
			return pid
		}
	}
	return 0
}

// listensAt is the process of this user that listens at a name.
func listensAt(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", name)
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil || failed != nil || int(peer.Uid) != os.Geteuid() {
		return 0
	}
	return max(0, int(peer.Pid))
}
