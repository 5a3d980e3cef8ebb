package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// aRun is a test whose run has a limit.
type aRun struct {
	testing.TB
	ends  time.Time
	said  string
	until time.Time // when it was given up
}

func (r *aRun) Helper()                     {}
func (r *aRun) Deadline() (time.Time, bool) { return r.ends, !r.ends.IsZero() }
func (r *aRun) Fatalf(format string, args ...any) {
	r.said, r.until = fmt.Sprintf(format, args...), time.Now()
	panic(r)
}

// awaits waits in this run until an hour from now; who gives up before leaves by a panic.
func (r *aRun) awaits(begun time.Time) {
	defer func() { _ = recover() }()
	await(r, func() string { return "the page is empty" }, func() bool { return time.Since(begun) > time.Hour })
}

// What never comes about is said before the limit of a run ends all of it.
func TestAWaitEndsBeforeItsRun(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: longest, time.Hour: longest, time.Minute: time.Minute - lastWords, time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			begun, r := time.Now(), &aRun{}
			if limit > 0 {
				r.ends = begun.Add(limit)
			}
			if r.awaits(begun); !strings.Contains(r.said, "the page is empty") {
				t.Errorf("a run of %v: %q", limit, r.said)
			}
			if waited := r.until.Sub(begun); waited < want || waited > want+time.Second {
				t.Errorf("a run of %v: waited for %v, want %v", limit, waited, want)
			}
		})
	}
}
