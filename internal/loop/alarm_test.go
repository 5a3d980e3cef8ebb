package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
)

func instant(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: time.Unix(0, 0).UTC().Add(d), Up: fleet.Duration(d), Boot: "b"}
}

// TestAlarmKeepsItsDistance: whatever finds in each pass another moment that lies
// just ahead, is no busy loop.
func TestAlarmKeepsItsDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarm
		began, wakes := time.Now(), make(chan string, 1)
		for passes := 0; time.Since(began) < 10*time.Second; passes++ {
			if passes > 10*int(time.Second/spacing) {
				t.Fatalf("%d passes in %v", passes, time.Since(began))
			}
			now := instant(time.Since(began))
			a.set(now, []fleet.Instant{now.Add(time.Nanosecond)}, func(why string) { wakes <- why })
			<-wakes
		}
	})
}

func TestAlarmTakesTheEarliestAhead(t *testing.T) {
	now := instant(time.Hour)
	list := []fleet.Instant{{}, now, now.Add(-time.Second), now.Add(time.Minute), now.Add(time.Second)}
	if next, ok := earliest(now, list); !ok || next != now.Add(time.Second) {
		t.Errorf("%v, %v", next, ok)
	}
	if next, ok := earliest(now, list[:3]); ok {
		t.Errorf("%v lies not ahead", next)
	}
}
