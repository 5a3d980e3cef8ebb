package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
)

// MainSocket is the socket that commands speak to, and which file it is. Where it was
// removed it is made anew; what another has put in its place stays, and is said.
type MainSocket struct {
	path string

	mu   sync.Mutex
	is   os.FileInfo
	next chan net.Listener // to be served
}

// OpenMainSocket makes the socket.
func OpenMainSocket(path string) (*MainSocket, error) {
	s := &MainSocket{path: path, next: make(chan net.Listener, 1)}
	return s, s.listen()
}

// listen makes the file, and has it served. mu is held, or s is not known to others yet.
func (s *MainSocket) listen() error {
	l, err := Listen(s.path)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // another may lie there by then
	if s.is, err = os.Lstat(s.path); err != nil {
		return errors.Join(err, l.Close())
	}
	s.next <- l
	return nil
}

// Trouble says what is wrong with the file; "" when it is ours.
func (s *MainSocket) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SocketTrouble(s.path, s.is)
}

// Mend makes the socket anew where nothing lies any more.
func (s *MainSocket) Mend() (made bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Lstat(s.path); !errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return true, s.listen()
}

// Serve answers at each socket that is made, until ctx ends or one of them fails.
func (s *MainSocket) Serve(ctx context.Context, h http.Handler) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			return failed
		case l := <-s.next:
			all.Go(func() {
				if err := Serve(ctx, l, h); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					end()
				}
			})
		}
	}
}

// Close removes the socket when it is ours.
func (s *MainSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case l := <-s.next: // nothing served it
		_ = l.Close()
	default:
	}
	if SocketTrouble(s.path, s.is) != "" {
		return nil
	}
	return os.Remove(s.path)
}
