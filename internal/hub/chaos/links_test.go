//go:build linux

package chaos

import (
	"net"
	"os"
	"testing"
	"time"
)

// TestLinks: what is set for one direction befalls what is sent that way, and no other.
func TestLinks(t *testing.T) {
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil || os.Getuid() != 0 {
		t.Skip("cannot make networks here: ", err)
	} else {
		_ = f.Close()
	}
	n := newNetwork(1)
	a, b := n.newSpace(t, "10.77.0.1"), n.newSpace(t, "10.77.0.2")
	at := listen(t, b)
	reach := func(within time.Duration) error {
		got := make(chan error)
		a.calls <- func() {
			c, err := net.DialTimeout("tcp4", at, within)
			if err == nil {
				err = c.Close()
			}
			got <- err
		}
		return <-got
	}
	if err := reach(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	for _, l := range []link{{a.Addr, b.Addr}, {b.Addr, a.Addr}} {
		undo := n.set(bad{Loss: 1}, l)
		if err := reach(300 * time.Millisecond); err == nil {
			t.Errorf("%v is cut, and it is reached", l)
		}
		undo()
	}
	n.set(bad{Delay: 400 * time.Millisecond}, link{b.Addr, a.Addr})
	began := time.Now()
	if err := reach(5 * time.Second); err != nil || time.Since(began) < 400*time.Millisecond {
		t.Errorf("with a delay it is reached after %v: %v", time.Since(began), err)
	}
}

// listen has something be reached in a namespace.
func listen(t *testing.T, s *space) string {
	t.Helper()
	got := make(chan net.Listener)
	s.calls <- func() {
		l, err := net.Listen("tcp4", s.Addr.String()+":0")
		if err != nil {
			t.Error(err)
		}
		got <- l
	}
	l := <-got
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
