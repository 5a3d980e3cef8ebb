package locks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/proc"
)

// A glob that matches too much leaves the part well seen, and says what of it was
// not: nobody is blind for the locks of another glob.
func TestACutLookIsNoBlindness(t *testing.T) {
	dir := t.TempDir()
	for i := range most + 1 {
		put(t, fmt.Sprintf("%s/%d.lock", dir, i), "1")
	}
	path := put(t, dir+"/z.pid", "1")
	p, err := New(Options{ForeignNamespace: new(false), Globs: []string{dir + "/*.lock", dir + "/z.pid"}, Holder: func(int) (proc.Holding, error) { return proc.Holding{}, proc.ErrGone }})
	if err != nil {
		t.Fatal(err)
	}
	b := observe.New(observe.Options{Probes: []observe.Probe{p}, Now: func() fleet.Instant { return fleet.Instant{Boot: "b"} }})
	b.First(context.Background())
	s := b.Snapshot()
	if s.Locks.Status != fleet.StatusOK {
		t.Errorf("locks are %+v, want ok", s.Locks.Sight)
	}
	if !strings.Contains(s.Locks.Cut, `/*.lock" 2001 match, and 2000 are looked at`) || strings.Contains(s.Locks.Cut, "z.pid") {
		t.Errorf("cut says %q", s.Locks.Cut)
	}
	if n := len(s.Locks.Value); n != most+1 || s.Locks.Value[n-1].Path != path {
		t.Errorf("%d locks, not with %s", n, path)
	}
}
