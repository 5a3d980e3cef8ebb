package leasetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/lease"
)

const (
	// tries is how often a case is tried that had no quiet moment.
	tries = 5
	// beat is how often it is looked whether the process goes on.
	beat = 10 * time.Millisecond
)

// Attempt is one try of a case. What it says is wrong counts where the moment was quiet: where neither
// the process nor any question to a store took longer than what the case has time for. Otherwise the
// case is tried again. What is unsafe counts always.
type Attempt struct {
	testing.TB
	n    int
	ctx  context.Context
	mu   sync.Mutex
	said []string
	// unsafe says that something was seen which no pause explains.
	unsafe   bool
	skipped  string
	longest  time.Duration // pause
	cleanups []func()
}

// Try tries a case, up to five times, until it passes or fails in a quiet moment: one without a pause
// longer than quiet. A case that never has one fails.
func Try(t *testing.T, quiet time.Duration, test func(*Attempt)) {
	t.Helper()
	for n := 1; ; n++ {
		a := play(t, n, test)
		switch {
		case a.skipped != "":
			t.Skip(a.skipped)
		case !a.Failed():
			return
		case a.counts(quiet):
			t.Fatal(strings.Join(a.said, "\n"))
		case n == tries:
			t.Fatalf("there was no quiet moment in %d tries, the last one had a pause of %v:\n%s", tries, a.longest, strings.Join(a.said, "\n"))
		}
		t.Logf("tried again, as there was a pause of %v: %s", a.longest, strings.Join(a.said, "; "))
	}
}

// counts says whether what is wrong counts.
func (a *Attempt) counts(quiet time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.said) > 0 && (a.unsafe || a.longest <= quiet)
}

// play is one try, with all that it cleans up.
func play(t *testing.T, n int, test func(*Attempt)) *Attempt {
	ctx, end := context.WithCancel(t.Context())
	a := &Attempt{TB: t, n: n, ctx: ctx}
	watched := make(chan struct{})
	go func() { defer close(watched); a.watch() }()
	a.apart(func() { test(a) })
	end()
	<-watched
	for _, clean := range slices.Backward(a.cleanups) {
		a.apart(clean)
	}
	return a
}

// apart does something in a goroutine of its own, which may end by FailNow.
func (a *Attempt) apart(do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	<-done
}

// watch measures the pauses of the process until the try ends.
func (a *Attempt) watch() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		a.paused(now.Sub(last) - beat)
		last = now
	}
}

// paused notes a pause.
func (a *Attempt) paused(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.longest = max(a.longest, d)
}

func (a *Attempt) say(unsafe bool, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said, a.unsafe = append(a.said, strings.TrimSuffix(text, "\n")), a.unsafe || unsafe
}

// Unsafe says that something is wrong which no pause explains.
func (a *Attempt) Unsafe(format string, args ...any) { a.say(true, fmt.Sprintf(format, args...)) }

// Name is another one for each try: what it names may be held still since the one before.
func (a *Attempt) Name() string {
	if a.n == 1 {
		return a.TB.Name()
	}
	return fmt.Sprint(a.TB.Name(), " try ", a.n)
}

// What follows is as in testing.TB.

func (a *Attempt) Context() context.Context     { return a.ctx }
func (a *Attempt) Error(args ...any)            { a.say(false, fmt.Sprintln(args...)) }
func (a *Attempt) Errorf(f string, args ...any) { a.say(false, fmt.Sprintf(f, args...)) }
func (a *Attempt) Fatal(args ...any)            { a.Error(args...); runtime.Goexit() }
func (a *Attempt) Fatalf(f string, args ...any) { a.Errorf(f, args...); runtime.Goexit() }
func (a *Attempt) Fail()                        { a.Error("it has failed") }
func (a *Attempt) FailNow()                     { a.Fatal("it has failed") }
func (a *Attempt) Skip(args ...any)             { a.skip(fmt.Sprint(args...)) }
func (a *Attempt) Skipf(f string, args ...any)  { a.skip(fmt.Sprintf(f, args...)) }
func (a *Attempt) SkipNow()                     { a.skip("skipped") }
func (a *Attempt) Cleanup(do func())            { a.cleanups = append(a.cleanups, do) }
func (a *Attempt) skip(why string)              { a.skipped = why; runtime.Goexit() }
func (a *Attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.said) > 0
}

// timed is a store whose questions are timed.
type timed struct {
	lease.Store
	a *Attempt
}

func (s timed) took(began time.Time) { s.a.paused(time.Since(began)) }

func (s timed) Acquire(ctx context.Context, key string, floor uint64) (lease.Lease, error) {
	defer s.took(time.Now())
	return s.Store.Acquire(ctx, key, floor)
}

func (s timed) Renew(ctx context.Context, l lease.Lease) (lease.Lease, error) {
	defer s.took(time.Now())
	return s.Store.Renew(ctx, l)
}

func (s timed) Release(ctx context.Context, l lease.Lease) error {
	defer s.took(time.Now())
	return s.Store.Release(ctx, l)
}
