package agentrun

import (
	"testing"
	"time"

	"custos/internal/sys/proc"
)

// A tree is at rest below a share of a core; one step of the kernel's counting within a short watch is no work, two are.
func TestStill(t *testing.T) {
	for _, c := range []struct {
		used, took time.Duration
		works      bool
	}{
		{0, time.Second, false}, {10 * time.Millisecond, 75 * time.Millisecond, false}, {20 * time.Millisecond, 75 * time.Millisecond, true},
		{20 * time.Millisecond, 2 * time.Second, false}, {60 * time.Millisecond, 2 * time.Second, true},
	} {
		id := proc.ID{PID: 7, Start: 1}
		before, after := []proc.Member{{ID: id, CPU: time.Second}}, []proc.Member{{ID: id, CPU: time.Second + c.used}}
		if err := still(before, after, c.took, 2); (err != nil) != c.works {
			t.Errorf("%v in %v: %v", c.used, c.took, err)
		}
	}
}
