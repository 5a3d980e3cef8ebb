package main

import (
	"io"
	"os"
	"syscall"
	"time"

	"custos/internal/policy"
)

// mostGrant is how large a grant may be.
const mostGrant = 64 << 10

// grant is one that a person gave, open and held, so that no other call takes it at the same time.
type grant struct {
	policy.Grant
	path string
	file *os.File
}

// granted opens the grant of a rule, if a person gave one that holds and is not used up.
func granted(file string, c policy.Compiled, rule string) (*grant, bool) {
	g := &grant{path: policy.GrantFile(file, rule)}
	var err error
	if g.file, err = os.OpenFile(g.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err != nil {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(g.file, mostGrant))
	if err == nil {
		g.Grant, err = policy.DecodeGrant(text)
	}
	if err != nil || !g.Holds(c, rule, time.Now()) || g.Once && !g.hold() {
		_ = g.file.Close()
		return nil, false
	}
	return g, true
}

// hold waits until no other call holds it, and says whether it is still there then: what is used is removed. A lock
// ends with its process.
func (g *grant) hold() bool {
	for began := time.Now(); syscall.Flock(int(g.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; time.Sleep(time.Millisecond) {
		if time.Since(began) > 2*ackWait {
			return false
		}
	}
	return !g.used()
}

func (g *grant) used() bool {
	var s syscall.Stat_t
	return syscall.Fstat(int(g.file.Fd()), &s) != nil || s.Nlink == 0
}

// use takes a grant for one call away. Within a boundary it is not ours to remove, and ask has the daemon do it.
func (g *grant) use(ask func(rule string)) bool {
	if !g.Once {
		return true
	}
	if os.Remove(g.path) != nil {
		ask(g.Rule)
	}
	return g.used()
}
