//go:build linux

package chaos

import (
	"syscall"
	"testing"
	"time"
)

// TestShort is a small one, for the suite: three hosts on a hub in this process. One is stopped for
// longer than its leases last, one is killed, one wants nothing for a while.
func TestShort(t *testing.T) {
	const ttl, most = 2 * time.Second, 20 * time.Second // it takes less; a busy machine needs more
	w := hubtestWorld(t, t.TempDir(), ttl, 3)
	w.eventually(most, "each key is acted on", func() error { return w.acted(0) })
	w.hosts[0].signal(syscall.SIGSTOP)
	stopped := uptime()
	w.eventually(most, "each key is acted on while a host is stopped", func() error { return w.acted(stopped + ttl) })
	w.hosts[0].signal(syscall.SIGCONT)
	w.note(w.hosts[1].name)
	w.hosts[1].down(syscall.SIGKILL)
	w.hosts[1].up()
	w.order(2, orders{Idle: true})
	killed := uptime()
	w.eventually(most, "each key is acted on after a host was killed", func() error { return w.acted(killed + ttl) })
	w.order(2, orders{})
	w.leave(most)
	r := &run{w: w}
	r.judge(span{})
}
