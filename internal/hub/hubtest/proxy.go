package hubtest

import (
	"net"
	"sync"
	"testing"
)

// Proxy hands connections on to a server, until it hangs: then it reads and writes nothing.
type Proxy struct {
	net.Listener
	to string
	mu sync.RWMutex // locked while it hangs
	on bool
}

// NewProxy listens on loopback until the test ends.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Listener: l, to: to}
	t.Cleanup(func() {
		p.Hang(false)
		_ = l.Close()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// Hang has it hang, or go on.
func (p *Proxy) Hang(on bool) {
	if on == p.on {
		return
	}
	if p.on = on; on {
		p.mu.Lock()
	} else {
		p.mu.Unlock()
	}
}

func (p *Proxy) serve(c net.Conn) {
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = c.Close()
		return
	}
	go p.pass(c, s)
	p.pass(s, c)
}

func (p *Proxy) pass(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.RLock() // waits while it hangs
		if n > 0 {
			_, _ = to.Write(b[:n])
		}
		p.mu.RUnlock()
		if err != nil {
			return
		}
	}
}
