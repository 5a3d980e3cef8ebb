package watch

import (
	"os"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/procstat"
)

func TestExitOf(t *testing.T) {
	for code, want := range map[int][2]int{0: {0, -1}, 3 << 8: {3, -1}, 9: {-1, 9}, 139: {-1, 11}, 255 << 8: {255, -1}} {
		x := exitOf(code, sourceZombie, fleet.Instant{})
		if x.Status.Or(-1) != want[0] || x.Signal.Or(-1) != want[1] {
			t.Errorf("%d: status %v, signal %v, want %v", code, x.Status, x.Signal, want)
		}
	}
}

// To who may not see it, the kernel writes 0 for the exit code.
func TestForeignZombieIsNoSuccess(t *testing.T) {
	s := stat{procstat.Stat{State: 'Z', Whole: true}, -1}
	if got := s.legible(); got && os.Geteuid() != 0 {
		t.Error("the exit code of a stranger was believed")
	}
	if (stat{procstat.Stat{State: 'S', Whole: true}, os.Geteuid()}).legible() {
		t.Error("a living process has an exit code")
	}
	if (stat{procstat.Stat{State: 'Z'}, os.Geteuid()}).legible() {
		t.Error("an exit code that is not there was believed")
	}
}
