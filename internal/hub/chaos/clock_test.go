//go:build linux

package chaos

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestClocksOfNodes: the wall clock of the node that leads the leases is set forward by five minutes
// and back again, a few times; and the clocks of the others, just before one of them leads.
// It takes some minutes and is played with the whole.
func TestClocksOfNodes(t *testing.T) {
	if os.Getenv("CUSTOS_CHAOS") == "" {
		t.Skip("CUSTOS_CHAOS is not set")
	}
	r := newRun(t, nil)
	began := uptime()
	for range 24 { // the node looks which leases are over every 12 to 15 s: some of these come just before
		time.Sleep(4700 * time.Millisecond)
		r.noted("leader-ahead", func(leader int) { r.w.ahead(4*time.Second, leader) })
	}
	for range 4 {
		time.Sleep(5 * time.Second)
		r.noted("next-leader-ahead", r.w.leadsAhead)
	}
	r.recover(began)
}

// noted notes what is done with the leader.
func (r *run) noted(what string, do func(leader int)) {
	name, err := r.w.whole()
	if err != nil {
		r.w.t.Error(err)
		return
	}
	from := uptime()
	do(slices.IndexFunc(r.w.nodes, func(p *process) bool { return p.name == name }))
	f := fault{Kind: what, Target: name, From: from, To: uptime(), Hurts: []string{name}}
	r.faults = append(r.faults, f)
	r.w.t.Log(f)
}

// ahead sets the clocks of nodes forward for a time.
func (w *world) ahead(d time.Duration, which ...int) {
	set := func(by int) {
		for _, i := range which {
			put(w.t, w.dir, fmt.Sprintf("n%d.skew", i), fmt.Sprint(by))
		}
	}
	set(300)
	time.Sleep(d)
	set(0)
}

// leadsAhead kills the leader while the clocks of the others are ahead.
func (w *world) leadsAhead(leader int) {
	killed := time.AfterFunc(3*time.Second, func() { w.nodes[leader].down(syscall.SIGKILL) })
	w.ahead(20*time.Second, (leader+1)%nodes, (leader+2)%nodes)
	killed.Stop()
	w.nodes[leader].up()
	w.eventually(time.Minute, "the node that was killed is whole", func() error { _, err := w.whole(); return err })
}
