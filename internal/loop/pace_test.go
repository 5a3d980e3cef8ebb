package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestStride: an idle patrol doubles the distance to the next one, from every to
// the longest; anything else sets it back.
func TestStride(t *testing.T) {
	const every, longest = time.Minute, 15 * time.Minute
	was := every
	for _, want := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, longest, longest} {
		if was = stride(every, longest, was, true); was != want {
			t.Fatalf("next patrol after %v, want %v", was, want)
		}
	}
	if got := stride(every, longest, longest, false); got != every {
		t.Errorf("after news the next patrol is %v later, want %v", got, every)
	}
	for _, off := range []time.Duration{0, time.Second, every} {
		if got := stride(every, off, every, true); got != every {
			t.Errorf("with at most %v, an idle patrol puts the next one off to %v", off, got)
		}
	}
}

// TestPaceKeepsItsBounds: whatever happens, the next patrol is due within every
// after an event, and within the longest distance after the last one; and it is
// never due later than it was because something happened.
func TestPaceKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := rapid.IntRange(1, 90)
		every, longest := time.Duration(minutes.Draw(t, "every"))*time.Minute, time.Duration(minutes.Draw(t, "longest"))*time.Minute
		step, gap := every, every
		for range rapid.IntRange(1, 40).Draw(t, "patrols") {
			since, idle := time.Duration(0), true
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				since += time.Duration(rapid.IntRange(0, int(max(0, gap-since))).Draw(t, "later"))
				was := gap
				gap, idle = nearer(every, gap, since), false
				if gap > was || gap > since+every {
					t.Fatalf("an event %v after the patrol puts the next one from %v to %v", since, was, gap)
				}
			}
			if gap > max(every, longest) {
				t.Fatalf("two patrols are %v apart; want at most %v and %v", gap, every, longest)
			}
			step = stride(every, longest, step, idle)
			gap = step
			if step < every || !idle && step != every {
				t.Fatalf("the next patrol is %v later, though every is %v and idle %v", step, every, idle)
			}
		}
	})
}

// TestPaceByTheClock: what happens brings the patrol that was put off near, and
// one that was about to come does not wait for it.
func TestPaceByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{every: time.Minute, longest: 15 * time.Minute}
		clock, began := p.start(), time.Now()
		defer p.stop()
		due := func(want time.Duration) {
			t.Helper()
			<-clock
			if got := time.Since(began); got != want {
				t.Fatalf("a patrol after %v, want %v", got, want)
			}
			p.patrolled(time.Now(), true)
		}
		due(time.Minute)
		due(3 * time.Minute)
		due(7 * time.Minute)
		if got := p.now(); got != 8*time.Minute {
			t.Fatalf("the interval in force is %v, want 8m", got)
		}
		time.Sleep(2 * time.Minute)
		p.stir()
		if got := p.now(); got != 3*time.Minute {
			t.Errorf("the interval in force is %v, want 3m: 2m have gone by, and the next is due within 1m", got)
		}
		time.Sleep(30 * time.Second)
		p.stir()              // it does not wait for the second event
		due(10 * time.Minute) // and that one is not idle, whatever it says
		due(11 * time.Minute)
		due(13 * time.Minute)
	})
}
