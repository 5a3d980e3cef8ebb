package member

import (
	"os"
	"syscall"
	"testing"
	"time"

	"custos/internal/hub/hubtest"
)

// TestWhatAHostCosts measures what taking part costs a host that wants nothing: CUSTOS_COST is for how long, as 1m.
func TestWhatAHostCosts(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("CUSTOS_COST"))
	if err != nil {
		t.Skip("CUSTOS_COST says for how long it is measured what a host costs, as 1m")
	}
	hub := hubtest.Processes(t, 1)
	changes := 0
	m, _ := host(t, hub.Join(t, "box1"), echo)
	m.o.Changed = func(string) { changes++ }
	eventually(t, "it takes part", func() bool { return mine(m, keyWatch) })
	time.Sleep(5 * time.Second)
	before, stats := used(t), m.link.nc.Stats()
	time.Sleep(d)
	after, now := used(t), m.link.nc.Stats()
	s := d.Seconds()
	t.Logf("%.3f %% of a core, %.0f B/s out in %.1f messages, %.0f B/s in in %.1f messages, %d changes", 100*(after-before).Seconds()/s,
		float64(now.OutBytes-stats.OutBytes)/s, float64(now.OutMsgs-stats.OutMsgs)/s, float64(now.InBytes-stats.InBytes)/s, float64(now.InMsgs-stats.InMsgs)/s, changes)
}

func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
