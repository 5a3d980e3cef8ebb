package leasetest

import (
	"testing"
	"time"
)

// What a case says counts in a quiet moment, and where it is unsafe; otherwise it is tried again.
func TestAttempts(t *testing.T) {
	busy := func(a *Attempt) { a.paused(2 * time.Hour) }
	for name, c := range map[string]struct {
		test   func(*Attempt)
		said   int
		counts bool
	}{
		"passes":            {func(a *Attempt) { busy(a) }, 0, false},
		"fails":             {func(a *Attempt) { a.Error("x"); a.Fatal("y"); a.Error("z") }, 2, true},
		"fails while busy":  {func(a *Attempt) { busy(a); a.Fatalf("x") }, 1, false},
		"unsafe while busy": {func(a *Attempt) { busy(a); a.Unsafe("x") }, 1, true},
		"fails at its end":  {func(a *Attempt) { a.Cleanup(func() { a.Fatal("x") }) }, 1, true},
	} {
		a := play(t, 1, c.test)
		if len(a.said) != c.said || a.counts(time.Hour) != c.counts {
			t.Errorf("%s: it has said %q, and that counts: %t", name, a.said, a.counts(time.Hour))
		}
	}
	n := 0
	Try(t, time.Hour, func(a *Attempt) {
		if n++; n < tries {
			busy(a)
			a.Errorf("try %d", n)
		}
	})
	if n != tries {
		t.Errorf("it was tried %d times", n)
	}
}

// A pause of the process is seen.
func TestPausesAreSeen(t *testing.T) {
	a := &Attempt{TB: t}
	s := timed{nil, a}
	s.took(time.Now().Add(-time.Minute))
	if a.longest < time.Minute {
		t.Errorf("a question of a minute is a pause of %v", a.longest)
	}
}
