package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"custos/internal/fleet"
)

// hookSocket is the socket of the hooks, and which file it is: any process of this
// user may remove it, or put another in its place, and then hooks go elsewhere.
type hookSocket struct {
	path string

	mu     sync.Mutex
	l      *net.UnixListener
	is     os.FileInfo
	closed bool
	was    string    // what was wrong with it last
	mended time.Time // when it was made anew for that
}

// mendedFor is how long it is said that it was made anew.
const mendedFor = 10 * time.Minute

// listen makes the socket; the one before ends without taking the new file away.
func (s *hookSocket) listen() error {
	l, err := Listen(s.path)
	if err != nil {
		return err
	}
	is, err := os.Lstat(s.path)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	old := s.l
	s.l, s.is = l.(*net.UnixListener), is
	s.l.SetUnlinkOnClose(false)
	if old != nil {
		_ = old.Close()
	}
	return nil
}

func (s *hookSocket) listener() net.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.l
}

// trouble says what is wrong with the file now; "" when it is ours. mu is held.
func (s *hookSocket) trouble() string { return SocketTrouble(s.path, s.is) }

// mend makes the socket anew when the file is not ours, and says what was wrong.
func (s *hookSocket) mend(now time.Time) (was string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was = s.trouble(); was == "" || s.closed {
		return "", nil
	}
	if err := s.listen(); err != nil {
		return was, err
	}
	s.was, s.mended = was, now
	return was, nil
}

// says what is wrong, or was until a while ago.
func (s *hookSocket) says(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch why := s.trouble(); {
	case s.closed:
		return ""
	case why != "":
		return "that of hooks: " + why
	case s.was != "" && now.Sub(s.mended) < mendedFor:
		return fmt.Sprintf("that of hooks: %s, and was made anew", s.was)
	}
	return ""
}

// close ends hearing, and removes the file when it is ours.
func (s *hookSocket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble() == "" {
		_ = os.Remove(s.path)
	}
	s.closed = true
	_ = s.l.Close()
}

// SocketTrouble says what is wrong with a socket that was made as the file was; "" when
// it is still there. A file that is removed may leave its number to the next one, but not
// the moment when it was made.
func SocketTrouble(path string, was os.FileInfo) string {
	now, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "it was removed"
	case err != nil:
		return fleet.Line(err.Error(), 200)
	case !os.SameFile(now, was) || !now.ModTime().Equal(was.ModTime()):
		return "something else was put in its place"
	}
	return ""
}
