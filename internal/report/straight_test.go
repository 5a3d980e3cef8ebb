package report

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A disk that takes nothing more is told the moment that a write meets it: it waits
// neither for the next look nor for a minute of trouble. It is told once, that there is
// room again once, and neither again within the hour.
func TestAFullDiskIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, why := newWorld(), atomic.Value{}
		why.Store("")
		phone := &someone{name: "phone"}
		r := New(Options{Notifiers: []Notifier{phone}, Outbox: w, History: w, Now: w.now, Host: "h", Every: time.Hour,
			Full: func() string { return why.Load().(string) }})
		meets := func(text string) {
			why.Store(text)
			r.Hurry()
			r.Hurry() // who asks twice waits for nobody
			synctest.Wait()
		}
		run(t, r, func() {
			synctest.Wait()
			meets("the disk of /s is full")
			if heard := phone.heard(); len(heard) != 1 || heard[0].Body[:22] != "the disk of /s is full" {
				t.Fatalf("the phone heard %+v", heard)
			}
			meets("the disk of /s is full")
			meets("")
			if heard := phone.heard(); len(heard) != 2 || !heard[1].AllClear {
				t.Fatalf("the phone heard %+v", heard)
			}
			meets("the disk of /s is full")
			meets("")
			if n := straights(phone); n != 2 {
				t.Errorf("the phone heard it %d times within an hour", n)
			}
		})
	})
}
