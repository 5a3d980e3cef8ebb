package watch

import (
	"os"
	"strings"
	"testing"

	"custos/internal/fleet"
)

const line = "77 (a) b) Z 1 77 77 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 768"

func TestParseStat(t *testing.T) {
	s, err := parseStat([]byte(line))
	if err != nil || s.state != 'Z' || s.start != 4242 || s.code != 768 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "77 (x) Z", strings.Replace(line, "768", "x", 1), strings.Replace(line, "4242", "-1", 1), strings.Replace(line, ") Z", ") ZZ", 1)} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, s)
		}
	}
}

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
	s := stat{state: 'Z', code: 0, uid: -1}
	if got := s.legible(); got && os.Geteuid() != 0 {
		t.Error("the exit code of a stranger was believed")
	}
	if (stat{state: 'S'}).legible() {
		t.Error("a living process has an exit code")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(line))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStat(b); err == nil && s.state == 0 {
			t.Errorf("%q has no state", b)
		}
	})
}
