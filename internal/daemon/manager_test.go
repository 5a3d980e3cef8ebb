package daemon

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ward is a daemon whose passes take place when the test says so, under a service
// manager that waits a minute.
type ward struct {
	manager
	mu    sync.Mutex
	heard []string // without the status
	asked int
	pass  chan struct{}
}

func newWard(within time.Duration) *ward {
	w := &ward{pass: make(chan struct{}, 1)}
	w.manager = manager{within: within, beats: w.pass, status: func() string { return "so" },
		ask: func() { w.mu.Lock(); defer w.mu.Unlock(); w.asked++ }}
	w.notify = func(state string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for line := range strings.Lines(state) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "STATUS=") {
				w.heard = append(w.heard, line)
			}
		}
		return nil
	}
	return w
}

func (w *ward) wants(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.heard, want) {
		t.Fatalf("the service manager heard %q, want %q", w.heard, want)
	}
}

func (w *ward) askedFor() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// TestManagerHearsOfWholePassesOnly: ready with the first pass; then once each half
// of the watchdog's time, and only when a pass was made since. A daemon that makes
// none is asked to, and says nothing: it is started anew.
func TestManagerHearsOfWholePassesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		time.Sleep(10 * time.Minute)
		w.wants(t)
		w.pass <- struct{}{}
		w.wants(t, "READY=1")
		w.pass <- struct{}{}
		w.wants(t, "READY=1", "WATCHDOG=1")
		w.pass <- struct{}{} // too soon to be told
		w.wants(t, "READY=1", "WATCHDOG=1")
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := w.askedFor(); n != 1 {
			t.Errorf("asked for %d passes, want one each half of the time", n)
		}
		w.pass <- struct{}{}
		w.wants(t, "READY=1", "WATCHDOG=1", "WATCHDOG=1")
		time.Sleep(10 * time.Minute) // no pass is finished
		w.wants(t, "READY=1", "WATCHDOG=1", "WATCHDOG=1")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		w.wants(t, "READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1")
	})
}

// TestManagerWithoutWatchdog: where nobody waits for them, no signs of life are
// sent, and no passes are asked for.
func TestManagerWithoutWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(0)
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = w.run(ctx) }()
		for range 3 {
			w.pass <- struct{}{}
			time.Sleep(time.Minute)
		}
		stop()
		w.wants(t, "READY=1", "STOPPING=1")
		if n := w.askedFor(); n != 0 {
			t.Errorf("asked for %d passes", n)
		}
	})
}
