package ask

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: while nothing goes on, nobody looks; from a word that something has begun it is looked four times in each
// beat, however many words come, until nothing goes on any more.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, begun := make(chan struct{}), make(chan struct{}, 1)
		var goes atomic.Bool
		var count atomic.Int64
		looks := func() int64 { synctest.Wait(); return count.Swap(0) }
		go beat(4*time.Second).watch(over, begun, func(time.Time) bool { count.Add(1); return goes.Load() })
		time.Sleep(time.Hour)
		if n := looks(); n > 1 {
			t.Errorf("it was looked %d times in an hour in which nothing was going on", n)
		}
		goes.Store(true)
		for range 100 { // each half of what is between two looks
			wake(begun)
			time.Sleep(time.Second / 2)
		}
		if n := looks(); n < 49 || n > 51 {
			t.Errorf("it was looked %d times in 50 s", n)
		}
		goes.Store(false)
		time.Sleep(time.Hour)
		if n := looks(); n != 1 {
			t.Errorf("it was looked %d times after the end", n)
		}
		close(over)
	})
}
