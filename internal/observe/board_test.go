package observe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
)

// world is a board with one probe, in the fake time of synctest.
type world struct {
	*observe.Board
	fake *observetest.Fake
	woke chan string
}

var spec = observe.Spec{Name: "fake", Part: fleet.PartExtra, Every: 10 * time.Second, Deadline: 2 * time.Second}

func newWorld(do func(context.Context) (observe.Put, error)) world {
	w := world{fake: &observetest.Fake{Of: spec, Do: do}, woke: make(chan string, 5000)} // more than any test wakes: a full one would hold the board
	w.Board = observe.New(observe.Options{Probes: []observe.Probe{w.fake}, Now: clock(), Wake: func(r string) { w.woke <- r }})
	return w
}

func clock() func() fleet.Instant {
	began := time.Now()
	return func() fleet.Instant {
		return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(time.Since(began) + time.Hour), Boot: "b"}
	}
}

// run starts Run for the length of the test, inside its bubble.
func (w world) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
}

func (w world) expect(t *testing.T, want fleet.Status, facts int, why string) fleet.Sight {
	t.Helper()
	synctest.Wait()
	s := w.Snapshot()
	if got := s.Extra.Status; got != want || len(s.Extra.Value) != facts || !strings.Contains(s.Extra.Why, why) {
		t.Fatalf("sight is %+v with %d facts; want %s, %d facts and why %q", s.Extra.Sight, len(s.Extra.Value), want, facts, why)
	}
	return s.Extra.Sight
}

func sees(names ...string) func(context.Context) (observe.Put, error) {
	return func(context.Context) (observe.Put, error) { return observetest.Facts(names...), nil }
}

func TestPendingThenOK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.expect(t, fleet.StatusPending, 0, "not looked yet")
		w.run(t)
		w.expect(t, fleet.StatusOK, 1, "")
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if n := w.fake.Looks(); n != 3 {
			t.Errorf("%d looks in 25 s, want 3", n)
		}
		if s := w.Snapshot(); s.Host.Status != fleet.StatusAbsent || s.Host.Why != "no probe configured" {
			t.Errorf("a part without a probe is %+v", s.Host.Sight)
		}
	})
}

// Looks that are due together are taken together, however long those before them took and
// whatever was looked at between: what they share is then read once. Two looks of a probe
// that an event brought near to each other are not.
func TestLooksFallTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var extra, logs []int // seconds
		fake := func(part fleet.PartName, at *[]int, takes time.Duration) *observetest.Fake {
			s := spec
			s.Part = part
			return &observetest.Fake{Of: s, Do: func(context.Context) (observe.Put, error) {
				*at = append(*at, int(time.Since(began).Seconds()))
				time.Sleep(takes)
				return observetest.Facts("a"), nil
			}}
		}
		w := world{Board: observe.New(observe.Options{Now: clock(), Probes: []observe.Probe{
			fake(fleet.PartExtra, &extra, 0), fake(fleet.PartLogs, &logs, 3*time.Second/2)}})}
		w.run(t)
		time.Sleep(12 * time.Second)
		w.LookNow(fleet.PartLogs)
		time.Sleep(15 * time.Second)
		w.LookNow(fleet.PartExtra)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if got := fmt.Sprint(extra, logs); got != "[0 10 20 27 40] [0 10 12 20 30 40]" {
			t.Errorf("they looked after %s s", got)
		}
	})
}

func TestFirstWithoutRunLooksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) {
			time.Sleep(time.Second)
			return observetest.Facts("a"), nil
		})
		began := time.Now()
		w.First(t.Context())
		w.First(t.Context())
		sight := w.expect(t, fleet.StatusOK, 1, "")
		if w.fake.Looks() != 1 || time.Since(began) != time.Second {
			t.Errorf("%d looks in %s", w.fake.Looks(), time.Since(began))
		}
		if time.Duration(sight.Took) != time.Second {
			t.Errorf("the look took %s, want 1s", sight.Took)
		}
		w.Touched(fleet.PartExtra)
		w.expect(t, fleet.StatusPending, 0, "changed")
		w.First(t.Context())
		w.expect(t, fleet.StatusOK, 1, "")
	})
}

func TestFirstEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		w := newWorld(func(context.Context) (observe.Put, error) { <-stop; return nil, nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		w.First(ctx)
		if took := time.Since(began); took > 1600*time.Millisecond {
			t.Errorf("First took %s", took)
		}
		close(stop)
		synctest.Wait()
	})
}

func TestStaleThenUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.First(t.Context()) // and never again
		time.Sleep(22 * time.Second)
		w.expect(t, fleet.StatusOK, 1, "")
		time.Sleep(time.Second)
		if s := w.expect(t, fleet.StatusStale, 1, "last seen 23s ago"); time.Duration(s.Blind) != time.Second {
			t.Errorf("blind for %s, want 1s", s.Blind)
		}
		time.Sleep(28 * time.Second)
		w.expect(t, fleet.StatusUnknown, 0, "last seen 51s ago")
	})
}

func TestFailureIsStaleAtOnceAndHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Pointer[error]
		w := newWorld(func(context.Context) (observe.Put, error) {
			if err := fail.Load(); err != nil {
				return nil, *err
			}
			return observetest.Facts("a"), nil
		})
		w.run(t)
		no := errors.New("cannot look: token=hunter2 \x1b[31mno")
		fail.Store(&no)
		time.Sleep(10 * time.Second)
		s := w.expect(t, fleet.StatusStale, 1, "cannot look: token=***")
		if strings.Contains(s.Why, "\x1b") {
			t.Errorf("an escape was let through: %q", s.Why)
		}
		time.Sleep(15 * time.Second)
		if s := w.expect(t, fleet.StatusStale, 1, ""); time.Duration(s.Blind) != 15*time.Second {
			t.Errorf("blind for %s, want 15s", s.Blind)
		}
		time.Sleep(30 * time.Second)
		w.expect(t, fleet.StatusUnknown, 0, "cannot look")
		fail.Store(nil)
		time.Sleep(10 * time.Second)
		if s := w.expect(t, fleet.StatusOK, 1, ""); s.Blind != 0 {
			t.Errorf("still blind for %s", s.Blind)
		}
		if n := len(w.woke); n != 2 {
			t.Errorf("woken %d times, want at the failure and at the cure", n)
		}
	})
}

func TestNeverSeenIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) { return nil, errors.New("cannot look: no") })
		w.run(t)
		w.expect(t, fleet.StatusUnknown, 0, "cannot look: no")
		time.Sleep(time.Minute)
		if s := w.expect(t, fleet.StatusUnknown, 0, ""); time.Duration(s.Blind) != time.Minute {
			t.Errorf("blind for %s, want 1m", s.Blind)
		}
	})
}

func TestPartialIsUsedAndStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) {
			return observetest.Facts("a"), errors.New("cannot see b")
		})
		w.run(t)
		time.Sleep(time.Hour)
		w.expect(t, fleet.StatusStale, 1, "cannot see b")
	})
}

func TestPanicIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bad atomic.Bool
		w := newWorld(func(context.Context) (observe.Put, error) {
			if bad.Load() {
				panic("index out of range")
			}
			return observetest.Facts("a"), nil
		})
		w.run(t)
		bad.Store(true)
		time.Sleep(10 * time.Second)
		w.expect(t, fleet.StatusUnknown, 0, "the probe panicked: index out of range (board_test.go:")
		bad.Store(false)
		time.Sleep(10 * time.Second)
		w.expect(t, fleet.StatusOK, 1, "")
	})
}

func TestPanicInPutIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) {
			return func(*fleet.Snapshot) { panic("boom") }, nil
		})
		w.First(t.Context())
		w.expect(t, fleet.StatusUnknown, 0, "boom")
	})
}

func TestNeitherFactsNorError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) { return nil, nil })
		w.First(t.Context())
		w.expect(t, fleet.StatusUnknown, 0, "neither facts nor an error")
	})
}

func TestLeftBehindIsNeverStartedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var stuck atomic.Bool
		w := newWorld(func(context.Context) (observe.Put, error) {
			if stuck.Load() {
				<-hang
				return observetest.Facts("old", "old"), nil
			}
			return observetest.Facts("a"), nil
		})
		w.run(t)
		stuck.Store(true)
		time.Sleep(13 * time.Second)
		if s := w.expect(t, fleet.StatusUnknown, 0, "the look begun 3s ago has not ended (deadline 2s)"); !s.Hung {
			t.Error("a look that was left behind does not hang")
		}
		w.Touched(fleet.PartExtra)
		time.Sleep(time.Hour)
		if n := w.fake.Looks(); n != 2 {
			t.Fatalf("%d looks began, want 2", n)
		}
		began := time.Now()
		w.First(t.Context()) // waits for nobody who was left behind
		if time.Since(began) != 0 {
			t.Errorf("First waited %s", time.Since(began))
		}
		stuck.Store(false)
		close(hang) // what it brings is dropped; the touch is answered at once
		synctest.Wait()
		if s := w.expect(t, fleet.StatusOK, 1, ""); s.Hung {
			t.Error("it still hangs")
		}
		if n := w.fake.Looks(); n != 3 {
			t.Errorf("%d looks began, want 3", n)
		}
	})
}

// Seen waits for a look that was left behind to be followed by one that sees, and no
// longer than it is to.
func TestSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var once sync.Once
		w := newWorld(func(context.Context) (observe.Put, error) {
			once.Do(func() { <-hang })
			return observetest.Facts("a"), nil
		})
		w.run(t)
		time.Sleep(3 * time.Second) // its deadline is over
		w.expect(t, fleet.StatusUnknown, 0, "has not ended")
		began := time.Now()
		if s := w.Seen(t.Context(), fleet.PartExtra, time.Second); time.Since(began) != time.Second || s.Extra.Usable() {
			t.Errorf("of what hangs it waited %s, and says %s", time.Since(began), s.Extra.Status)
		}
		time.AfterFunc(2*time.Second, func() { close(hang) })
		began = time.Now()
		if s := w.Seen(t.Context(), fleet.PartExtra, time.Minute); time.Since(began) != 2*time.Second || len(s.Extra.Value) != 1 {
			t.Errorf("it waited %s, want 2s, and saw %v", time.Since(began), s.Extra)
		}
		began = time.Now()
		if w.Seen(t.Context(), fleet.PartExtra, time.Minute); time.Since(began) != 0 {
			t.Errorf("of what is seen it waited %s", time.Since(began))
		}
	})
}

// What is touched again and again, as agents are while many of them are started, is seen
// by a look that began after the question; for whoever plans it stays pending.
func TestSeenWhileItIsTouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		var looks atomic.Int32
		var calm atomic.Bool
		w = newWorld(func(context.Context) (observe.Put, error) {
			n := looks.Add(1)
			time.Sleep(time.Second)
			if n > 1 && !calm.Load() {
				w.Touched(fleet.PartExtra)
			}
			return observetest.Facts(fmt.Sprint(n)), nil
		})
		w.run(t)
		time.Sleep(1500 * time.Millisecond)
		w.Touched(fleet.PartExtra)
		time.Sleep(500 * time.Millisecond) // the second look goes on
		began := time.Now()
		s := w.Seen(t.Context(), fleet.PartExtra, time.Minute)
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("it waited %s, want until the end of the third look", took)
		}
		if !s.Extra.Usable() || len(s.Extra.Value) != 1 || s.Extra.Value[0].Name != "3" {
			t.Errorf("it saw %v", s.Extra)
		}
		w.expect(t, fleet.StatusPending, 0, "changed since it was last looked at")
		calm.Store(true)
		time.Sleep(5 * time.Second) // for the look that goes on
	})
}

// What was seen to be usable is what is returned, though something is touched just then:
// a caller was once refused, as one who may be an agent, for a hook that came meanwhile.
func TestSeenIsWhatWasSeen(t *testing.T) {
	for n := range int32(4) {
		synctest.Test(t, func(t *testing.T) {
			w := world{fake: &observetest.Fake{Of: spec, Do: func(context.Context) (observe.Put, error) { return observetest.Facts("a"), nil }}}
			var until atomic.Int32
			now := clock()
			w.Board = observe.New(observe.Options{Probes: []observe.Probe{w.fake}, Now: func() fleet.Instant {
				if until.Add(-1) == 0 {
					w.Touched(fleet.PartExtra)
				}
				return now()
			}})
			w.run(t)
			until.Store(n + 1) // the board asks for the time as it begins to copy what is seen
			if s := w.Seen(t.Context(), fleet.PartExtra, time.Minute); !s.Extra.Usable() || len(s.Extra.Value) != 1 {
				t.Errorf("touched at moment %d: %s, %s", n+1, s.Extra.Status, s.Extra.Why)
			}
		})
	}
}

func TestSlowButObedientIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := newWorld(func(ctx context.Context) (observe.Put, error) {
			if slow.Load() {
				<-ctx.Done()
				return nil, fmt.Errorf("cannot look: %w", ctx.Err())
			}
			return observetest.Facts("a"), nil
		})
		w.run(t)
		slow.Store(true)
		time.Sleep(13 * time.Second)
		if s := w.expect(t, fleet.StatusStale, 1, "deadline exceeded"); !s.Hung {
			t.Error("a look that did not answer in time does not hang")
		}
	})
}

// Whoever does not wait says nothing of the probe: it is asked again, and only its own
// deadline makes it hang.
func TestACallerThatLeavesHangsNoProbe(t *testing.T) {
	obedient := func(ctx context.Context) { <-ctx.Done() }
	for name, c := range map[string]struct {
		wait   func(context.Context)
		status fleet.Status
		why    string
	}{
		"it ends with its caller": {obedient, fleet.StatusPending, "not looked yet"},
		"it goes on":              {func(context.Context) { time.Sleep(time.Hour) }, fleet.StatusUnknown, "has not ended"},
	} {
		for end, leave := range map[string]func(context.Context) (context.Context, context.CancelFunc){
			"a glance": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			},
			"hung up": func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(func(ctx context.Context) (observe.Put, error) {
						c.wait(ctx)
						return nil, fmt.Errorf("cannot look: %w", ctx.Err())
					})
					ctx, cancel := leave(t.Context())
					defer cancel()
					w.First(ctx)
					if s := w.expect(t, c.status, 0, c.why); s.Hung {
						t.Errorf("it hangs after a second, with a deadline of two: %+v", s)
					}
					w.First(t.Context())
					if s := w.Snapshot(); name == "it ends with its caller" && !s.Extra.Hung {
						t.Errorf("past its own deadline it does not hang: %+v", s.Extra.Sight)
					}
					time.Sleep(2 * time.Hour) // the look that goes on ends
				})
			})
		}
	}
}

// What one caller cut short, the driver looks at again at once.
func TestACutLookIsTakenUpByTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(ctx context.Context) (observe.Put, error) {
			select {
			case <-time.After(1500 * time.Millisecond):
				return observetest.Facts("a"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		glance, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go w.First(glance)
		synctest.Wait()
		w.run(t) // the driver finds a look begun, and rests
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, fleet.StatusPending, 0, "not looked yet")
		time.Sleep(1500 * time.Millisecond)
		w.expect(t, fleet.StatusOK, 1, "")
		if n := w.fake.Looks(); n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
	})
}

// What one caller cut short and a part was seen of is shown, and looked at again: by the
// next who asks, and by the driver at once.
func TestAPartOfALookIsTakenUpAgain(t *testing.T) {
	for name, next := range map[string]func(*testing.T, world){
		"who asks":   func(t *testing.T, w world) { w.First(t.Context()) },
		"the driver": func(t *testing.T, w world) { w.run(t); time.Sleep(1600 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(ctx context.Context) (observe.Put, error) {
					select {
					case <-time.After(1500 * time.Millisecond):
						return observetest.Facts("a", "b"), nil
					case <-ctx.Done():
						return observetest.Facts("a"), ctx.Err()
					}
				})
				glance, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				w.First(glance)
				w.expect(t, fleet.StatusStale, 1, "deadline")
				next(t, w)
				w.expect(t, fleet.StatusOK, 2, "")
				if n := w.fake.Looks(); n != 2 {
					t.Errorf("%d looks, want 2", n)
				}
			})
		})
	}
}

func TestAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) {
			return nil, fmt.Errorf("no tmux: %w", observe.ErrAbsent)
		})
		w.run(t)
		if s := w.expect(t, fleet.StatusAbsent, 0, "no tmux"); s.Blind != 0 {
			t.Error("absent is not blind")
		}
		time.Sleep(time.Hour)
		w.expect(t, fleet.StatusAbsent, 0, "no tmux")
	})
}

func TestTouchedIsPendingUntilLookedAtAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) {
			time.Sleep(time.Second)
			return observetest.Facts("a"), nil
		})
		w.run(t)
		time.Sleep(11500 * time.Millisecond) // half a second into the second look
		w.expect(t, fleet.StatusOK, 1, "")
		w.Touched(fleet.PartExtra, fleet.PartHost)
		time.Sleep(600 * time.Millisecond) // that look ends, but it began before the touch
		w.expect(t, fleet.StatusPending, 0, "changed")
		time.Sleep(time.Second)
		s := w.expect(t, fleet.StatusOK, 1, "")
		if n := w.fake.Looks(); n != 3 {
			t.Errorf("%d looks, want 3", n)
		}
		if s.Blind != 0 {
			t.Errorf("blind for %s", s.Blind)
		}
		if n := len(w.woke); n != 1 {
			t.Errorf("woken %d times, want once", n)
		}
	})
}

func TestTouchedThenFailedIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.First(t.Context())
		w.fake.Do = func(context.Context) (observe.Put, error) { return nil, errors.New("cannot look: no") }
		w.Touched(fleet.PartExtra)
		w.First(t.Context())
		w.expect(t, fleet.StatusUnknown, 0, "cannot look: no") // what was seen before the touch is worth nothing
	})
}

func TestLookNowKeepsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.run(t)
		time.Sleep(time.Second)
		w.LookNow(fleet.PartExtra)
		w.LookNow(fleet.PartHost)
		w.expect(t, fleet.StatusOK, 1, "")
		if n := w.fake.Looks(); n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
		if len(w.woke) != 1 {
			t.Errorf("woken %d times, want once", len(w.woke))
		}
	})
}

func TestFirstBesideRunDoesNotLookTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(context.Context) (observe.Put, error) {
			time.Sleep(time.Second)
			return observetest.Facts("a"), nil
		})
		w.run(t)
		w.First(t.Context())
		w.Touched(fleet.PartExtra)
		w.First(t.Context())
		time.Sleep(5 * time.Second)
		if n := w.fake.Looks(); n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
	})
}

// Who asks how it is now is told of a look that began since: one that is under way does
// not count, what is known stays on the board, and one that was left is not waited for.
func TestAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var stuck atomic.Bool
		w := newWorld(func(context.Context) (observe.Put, error) {
			if stuck.Load() {
				<-hang
			}
			time.Sleep(time.Second)
			return observetest.Facts("a"), nil
		})
		w.Anew(t.Context(), fleet.PartExtra) // without Run, and as the first look
		w.expect(t, fleet.StatusOK, 1, "")
		go w.Anew(t.Context(), fleet.PartExtra)
		time.Sleep(500 * time.Millisecond)
		w.expect(t, fleet.StatusOK, 1, "")
		began := time.Now()
		w.Anew(t.Context(), fleet.PartExtra)
		if took := time.Since(began); took != 1500*time.Millisecond || w.fake.Looks() != 3 {
			t.Errorf("it took %s and %d looks, want 1.5s and 3", took, w.fake.Looks())
		}
		w.Anew(t.Context(), fleet.PartHost) // nobody looks there
		stuck.Store(true)
		w.Anew(t.Context(), fleet.PartExtra)
		w.expect(t, fleet.StatusUnknown, 0, "has not ended")
		began = time.Now()
		if w.Anew(t.Context(), fleet.PartExtra); time.Since(began) != 0 {
			t.Errorf("of what hangs it waited %s", time.Since(began))
		}
		close(hang)
		time.Sleep(2 * time.Second) // it ends
	})
}

// A hung probe holds up nobody else.
func TestProbesRunBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		bad := &observetest.Fake{Of: observe.Spec{Name: "bad", Part: fleet.PartHost, Every: time.Second, Deadline: time.Second},
			Do: func(context.Context) (observe.Put, error) { <-hang; return nil, nil }}
		fine := &observetest.Fake{Of: spec, Do: sees("a")}
		b := observe.New(observe.Options{Probes: []observe.Probe{bad, fine}, Now: clock()})
		began := time.Now()
		b.First(t.Context())
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("First took %s, want the deadline and its grace", took)
		}
		s := b.Snapshot()
		if s.Host.Status != fleet.StatusUnknown || s.Extra.Status != fleet.StatusOK {
			t.Errorf("host %s, extra %s", s.Host.Status, s.Extra.Status)
		}
		close(hang)
		synctest.Wait()
	})
}

func TestSharedPart(t *testing.T) {
	nothing := func(context.Context) (observe.Put, error) { return nil, errors.New("cannot look: no") }
	absent := func(context.Context) (observe.Put, error) { return nil, observe.ErrAbsent }
	for _, c := range []struct {
		name   string
		second func(context.Context) (observe.Put, error)
		want   fleet.Status
		facts  string
	}{
		{"both", sees("b"), fleet.StatusOK, "ab"},
		{"one blind", nothing, fleet.StatusStale, "a"},
		{"one absent", absent, fleet.StatusOK, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := &observetest.Fake{Of: spec, Do: sees("a")}
			two := &observetest.Fake{Of: spec, Do: c.second}
			b := observe.New(observe.Options{Probes: []observe.Probe{one, two}, Now: clock()})
			b.First(t.Context())
			s := b.Snapshot()
			got := ""
			for _, f := range s.Extra.Value {
				got += f.Name
			}
			if s.Extra.Status != c.want || got != c.facts {
				t.Errorf("got %q, %+v; want %q, %s", got, s.Extra.Sight, c.facts, c.want)
			}
		})
	}
}

// A Put that appends does not reach into the slice that another one set.
func TestPutsShareNothing(t *testing.T) {
	owned := make([]fleet.Extra, 1, 10)
	one := &observetest.Fake{Of: spec, Do: func(context.Context) (observe.Put, error) {
		return func(s *fleet.Snapshot) { s.Extra.Value = owned }, nil
	}}
	two := &observetest.Fake{Of: spec, Do: sees("b")}
	b := observe.New(observe.Options{Probes: []observe.Probe{one, two}, Now: clock()})
	b.First(t.Context())
	b.Snapshot()
	if got := owned[:2][1].Name; got != "" {
		t.Errorf("the probe's own slice now holds %q", got)
	}
}

// What clients keep for several probes is dropped before a look that has a cause.
func TestForgetsBeforeLookingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, kept := "old", "old" // the world, and what a client kept of it
		fake := &observetest.Fake{Of: spec, Do: func(context.Context) (observe.Put, error) {
			if kept == "" {
				kept = now
			}
			return observetest.Facts(kept), nil
		}}
		b := observe.New(observe.Options{Probes: []observe.Probe{fake}, Now: clock(), Forget: func() { kept = "" }})
		b.First(t.Context())
		now = "new"
		b.Touched(fleet.PartExtra)
		b.First(t.Context())
		if s := b.Snapshot(); s.Extra.Value[0].Name != "new" {
			t.Errorf("after the touch %q was seen", s.Extra.Value[0].Name)
		}
	})
}

// Run, First, Touched and Snapshot from many sides at once; for -race.
func TestManyHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.run(t)
		for range 20 {
			go func() {
				for range 50 {
					w.Touched(fleet.PartExtra)
					w.Snapshot()
					w.First(t.Context())
					w.LookNow(fleet.PartExtra)
					time.Sleep(time.Millisecond)
				}
			}()
		}
		time.Sleep(time.Minute)
		w.expect(t, fleet.StatusOK, 1, "")
	})
}

func BenchmarkSnapshot10000Agents(b *testing.B) {
	agents := make([]fleet.Agent, 10_000)
	fake := &observetest.Fake{Of: observe.Spec{Name: "agents", Part: fleet.PartAgents, Every: time.Hour, Deadline: time.Second},
		Do: func(context.Context) (observe.Put, error) {
			return func(s *fleet.Snapshot) { s.Agents.Value = agents }, nil
		}}
	board := observe.New(observe.Options{Probes: []observe.Probe{fake}, Now: clock()})
	board.First(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if s := board.Snapshot(); len(s.Agents.Value) != len(agents) {
			b.Fatal("agents are missing")
		}
	}
}

// News shows at once, and until a good look that began after it has ended.
func TestOverlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		w := newWorld(func(context.Context) (observe.Put, error) {
			time.Sleep(time.Second)
			if fail.Load() {
				return nil, errors.New("cannot look: no")
			}
			return observetest.Facts("a"), nil
		})
		w.run(t)
		w.Overlay(fleet.PartExtra, observetest.Facts("news"), "it happened")
		w.expect(t, fleet.StatusPending, 0, "") // not seen yet: nothing to lay it over
		if why := <-w.woke; why != "it happened" {
			t.Errorf("woken by %q", why)
		}
		time.Sleep(1500 * time.Millisecond) // the look that began before the news has ended
		w.expect(t, fleet.StatusOK, 2, "")
		fail.Store(true)
		time.Sleep(11 * time.Second) // one that failed has ended
		w.expect(t, fleet.StatusStale, 2, "no")
		fail.Store(false)
		time.Sleep(8 * time.Second) // a good one is under way
		w.expect(t, fleet.StatusStale, 2, "no")
		time.Sleep(time.Second)
		w.expect(t, fleet.StatusOK, 1, "")
		time.Sleep(time.Minute)
		w.expect(t, fleet.StatusOK, 1, "")
	})
}

// News of one part leaves others alone, stays in the order it came in, and a
// Put that panics blinds its own part only.
func TestOverlaysOfOnePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.First(t.Context())
		var order []string
		add := func(name string) observe.Put {
			return func(s *fleet.Snapshot) {
				order = append(order, name)
				s.Extra.Value = append(s.Extra.Value, fleet.Extra{Name: name})
			}
		}
		w.Overlay(fleet.PartExtra, add("one"), "one")
		w.Overlay(fleet.PartExtra, add("two"), "two")
		w.Overlay(fleet.PartHost, func(s *fleet.Snapshot) { s.Host.Value.Name = "no" }, "of a part without a probe")
		s := w.Snapshot()
		if len(s.Extra.Value) != 3 || strings.Join(order, " ") != "one two" || s.Host.Status != fleet.StatusAbsent {
			t.Errorf("%v laid in order %v, host %s", s.Extra.Value, order, s.Host.Status)
		}
		w.Overlay(fleet.PartExtra, func(*fleet.Snapshot) { panic("index out of range") }, "bad")
		w.expect(t, fleet.StatusUnknown, 3, "index out of range")
		w.LookNow(fleet.PartExtra)
		w.run(t)
		time.Sleep(11 * time.Second)
		w.expect(t, fleet.StatusOK, 1, "")
	})
}

// A look by the clock that finds something else than the one before it wakes, once; one
// that finds only what moves by itself (times, rates, sizes, words about them) does not.
func TestALookByTheClockWakesWhereTheFactsDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		see   func(look int) fleet.Extra
		wakes int // of ten looks
	}{
		"nothing": {func(int) fleet.Extra { return fleet.Extra{Name: "a"} }, 0},
		"a number moves": {func(n int) fleet.Extra {
			return fleet.Extra{Numbers: map[string]fleet.Leaf[float64]{"x": fleet.Known(float64(n))}}
		}, 0},
		"a text changes": {func(n int) fleet.Extra {
			return fleet.Extra{Texts: map[string]fleet.Leaf[string]{"x": fleet.Known(fmt.Sprint(n / 5))}}
		}, 1},
		"back and forth": {func(n int) fleet.Extra { return fleet.Extra{Name: fmt.Sprint(n % 2)} }, 9},
		"not known once": {func(n int) fleet.Extra {
			if n == 4 {
				return fleet.Extra{Texts: map[string]fleet.Leaf[string]{"x": fleet.Unknown[string](fmt.Sprint(n))}}
			}
			return fleet.Extra{Texts: map[string]fleet.Leaf[string]{"x": fleet.Known("")}}
		}, 2},
		"not known, with another reason each time": {func(n int) fleet.Extra {
			return fleet.Extra{Texts: map[string]fleet.Leaf[string]{"x": fleet.Unknown[string](fmt.Sprint(n))}}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := -1
				w := newWorld(func(context.Context) (observe.Put, error) {
					n++
					e := c.see(n)
					return func(s *fleet.Snapshot) { s.Extra.Value = append(s.Extra.Value, e) }, nil
				})
				w.run(t)
				time.Sleep(9*spec.Every + time.Second)
				synctest.Wait()
				if n != 9 || len(w.woke) != c.wakes {
					t.Errorf("%d looks woke %d times, want 10 and %d", n+1, len(w.woke), c.wakes)
				}
			})
		})
	}
}

// A part that holds what nobody else would wake for: each agent by what rules judge of
// it, not by how busy it is.
func TestAnAgentThatMovesIsNoNewsAndAStateIs(t *testing.T) {
	one := func(change func(*fleet.Agent)) []fleet.Agent {
		a := fleet.Agent{Name: "a", State: fleet.StateWorking, Process: fleet.ProcessID{PID: 7},
			CPU: fleet.Known(1.0), RSS: fleet.Known(int64(1)), Age: fleet.Known(fleet.Duration(1))}
		change(&a)
		return []fleet.Agent{a}
	}
	for name, c := range map[string]struct {
		change func(*fleet.Agent)
		wakes  int
	}{
		"it moves": {func(a *fleet.Agent) {
			a.CPU, a.RSS, a.Age, a.Reason = fleet.Known(3.0), fleet.Known(int64(5)), fleet.Known(fleet.Duration(9)), "its processes use 3 % of a core"
			a.Signals, a.Procs = []fleet.Signal{{Says: "3 %"}}, []fleet.ProcessID{{PID: 8}}
			a.Pane = &fleet.Pane{Title: "*"}
		}, 0},
		"it waits":       {func(a *fleet.Agent) { a.State = fleet.StateWaiting }, 1},
		"its folder":     {func(a *fleet.Agent) { a.FolderGone = fleet.Known(true) }, 1},
		"another one":    {func(a *fleet.Agent) { a.Process.PID = 8 }, 1},
		"it is attached": {func(a *fleet.Agent) { a.Attached = 1 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, woke := 0, make(chan string, 10)
				w := world{fake: &observetest.Fake{Of: observe.Spec{Name: "agents", Part: fleet.PartAgents, Every: 10 * time.Second, Deadline: time.Second}}, woke: woke}
				w.fake.Do = func(context.Context) (observe.Put, error) {
					n++
					seen := one(func(a *fleet.Agent) {
						if a.Pane = (&fleet.Pane{}); n > 2 {
							c.change(a)
						}
					})
					return func(s *fleet.Snapshot) { s.Agents.Value = append(s.Agents.Value, seen...) }, nil
				}
				w.Board = observe.New(observe.Options{Probes: []observe.Probe{w.fake}, Now: clock(), Wake: func(r string) { woke <- r }})
				w.run(t)
				time.Sleep(31 * time.Second)
				synctest.Wait()
				if len(woke) != c.wakes {
					t.Errorf("woken %d times, want %d", len(woke), c.wakes)
				}
			})
		})
	}
}

// A flood of events is a look in each Spec.Rest; what an action touched waits
// for nothing.
func TestFloodOfEventsIsAFewLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		resting := spec
		resting.Rest = 2 * time.Second
		w.fake = &observetest.Fake{Of: resting, Do: sees("a")}
		w.Board = observe.New(observe.Options{Probes: []observe.Probe{w.fake}, Now: clock()})
		w.run(t)
		for range 500 { // ten seconds of events
			w.LookNow(fleet.PartExtra)
			time.Sleep(20 * time.Millisecond)
		}
		synctest.Wait()
		if n := w.fake.Looks(); n < 5 || n > 7 {
			t.Errorf("%d looks in 10 s, want one in 2 s", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		before := w.fake.Looks()
		w.LookNow(fleet.PartExtra)
		synctest.Wait()
		w.LookNow(fleet.PartExtra)
		synctest.Wait()
		if n := w.fake.Looks() - before; n != 1 {
			t.Errorf("%d looks at once, want the first event's", n)
		}
		w.Touched(fleet.PartExtra)
		synctest.Wait()
		if n := w.fake.Looks() - before; n != 2 {
			t.Errorf("%d looks, want one at once for what was touched", n)
		}
		w.LookNow(fleet.PartExtra)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := w.fake.Looks() - before; n != 3 {
			t.Errorf("%d looks, want the last event's too", n)
		}
	})
}

// hearing is a probe that looks at one repository.
type hearing struct {
	*observetest.Fake
	repo string
}

func (h hearing) Hear(repo string) bool { return repo == h.repo }

// Who looks at a repository looks again for what happened there, and nobody else does.
func TestWhatIsHeardIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		deaf, shop, blog := &observetest.Fake{Of: spec, Do: sees("a")}, &observetest.Fake{Of: spec, Do: sees("a")}, &observetest.Fake{Of: spec, Do: sees("a")}
		w.fake = deaf
		w.Board = observe.New(observe.Options{Probes: []observe.Probe{deaf, hearing{shop, "acme/shop"}, hearing{blog, "acme/blog"}}, Now: clock()})
		w.run(t)
		synctest.Wait()
		w.Heard("acme/shop")
		w.Heard("acme/other")
		synctest.Wait()
		if deaf.Looks() != 1 || shop.Looks() != 2 || blog.Looks() != 1 {
			t.Errorf("%d, %d and %d looks", deaf.Looks(), shop.Looks(), blog.Looks())
		}
	})
}

// A probe that is eased rests by what its looks take, and Spec.Rest at most.
func TestAnEasedProbeRestsByWhatItsLooksTake(t *testing.T) {
	for took, looks := range map[time.Duration]int{0: 100, 5 * time.Millisecond: 50, 50 * time.Millisecond: 5, time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			eased := spec
			eased.Rest, eased.Ease = 2*time.Second, 40
			fake := &observetest.Fake{Of: eased}
			fake.Do = func(ctx context.Context) (observe.Put, error) {
				time.Sleep(took)
				return sees("a")(ctx)
			}
			w := world{fake: fake, Board: observe.New(observe.Options{Probes: []observe.Probe{fake}, Now: clock()})}
			w.run(t)
			for range 1000 { // ten seconds of events
				w.LookNow(fleet.PartExtra)
				time.Sleep(10 * time.Millisecond)
			}
			n := fake.Looks()
			time.Sleep(5 * time.Second) // the last look ends
			synctest.Wait()
			if n < looks*9/10 || n > looks*11/10+1 {
				t.Errorf("%d looks of %v in 10 s, want about %d", n, took, looks)
			}
		})
	}
}

// A probe that says that all is calm looks half as often once four looks in a row saw so and nothing
// else, together with those that look at all moments; it stays fresh. News, trouble, or that it says so
// no more has it look as ever at once.
func TestACalmProbeLooksHalfAsOften(t *testing.T) {
	for what, c := range map[string]struct {
		fake func(now int, f *observetest.Fake) (observe.Put, error) // now: seconds
		want string
	}{
		"calm": {func(int, *observetest.Fake) (observe.Put, error) { return observetest.Facts("a"), nil }, "[0 10 20 30 40 60 80 100 120 140]"},
		"not calm": {func(_ int, f *observetest.Fake) (observe.Put, error) {
			f.Still = false
			return observetest.Facts("a"), nil
		}, "[0 10 20 30 40 50 60 70 80 90 100 110 120 130 140]"},
		"no more": {func(now int, f *observetest.Fake) (observe.Put, error) {
			f.Still = now < 80
			return observetest.Facts("a"), nil
		}, "[0 10 20 30 40 60 80 90 100 110 120 130 140]"},
		"news": {func(now int, _ *observetest.Fake) (observe.Put, error) {
			return observetest.Facts(fmt.Sprint(now >= 80)), nil
		}, "[0 10 20 30 40 60 80 90 100 110 120 140]"},
		"trouble": {func(now int, _ *observetest.Fake) (observe.Put, error) {
			return observetest.Facts("a"), map[bool]error{true: io.EOF}[now == 80]
		}, "[0 10 20 30 40 60 80 90 100 110 120 130 140]"},
		"it crashes": {func(now int, _ *observetest.Fake) (observe.Put, error) {
			_ = 1 / (now - 80)
			return observetest.Facts("a"), nil
		}, "[0 10 20 30 40 60 80 90 100 110 120 130 140]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, at := time.Now(), []int{}
			f := &observetest.Fake{Of: spec, Still: true}
			f.Do = func(context.Context) (observe.Put, error) {
				at = append(at, int(time.Since(began).Seconds()))
				return c.fake(at[len(at)-1], f)
			}
			w := world{fake: f, Board: observe.New(observe.Options{Probes: []observe.Probe{f}, Now: clock()})}
			w.run(t)
			for time.Since(began) < 145*time.Second {
				time.Sleep(time.Second)
				synctest.Wait()
				if s := w.Snapshot().Extra.Status; what == "calm" && s != fleet.StatusOK {
					t.Errorf("after %v it is %s", time.Since(began), s)
				}
			}
			if got := fmt.Sprint(at); got != c.want {
				t.Errorf("%s: it looked after %s s, want %s", what, got, c.want)
			}
		})
	}
}

// A probe that knows when what it saw ends looks again then, and not only by its clock,
// whoever had it look; one that always says "at once" costs a few looks and no more.
func TestALookIsDueWhenWhatWasSeenEnds(t *testing.T) {
	for name, c := range map[string]struct {
		to, rest time.Duration
		looks    int // in nine and a half seconds, of a probe that looks each ten
	}{
		"nothing ends":             {0, 0, 1},
		"later than its clock":     {time.Hour, 0, 1},
		"each four seconds":        {4 * time.Second, 0, 3},
		"at once":                  {time.Nanosecond, 0, 95},
		"at once, and it may rest": {time.Nanosecond, 2 * time.Second, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				of := spec
				of.Rest = c.rest
				w := world{fake: &observetest.Fake{Of: of, Do: sees("a"), To: func() time.Duration { return c.to }}}
				w.Board = observe.New(observe.Options{Probes: []observe.Probe{w.fake}, Now: clock()})
				w.run(t)
				time.Sleep(9500*time.Millisecond - 1)
				synctest.Wait()
				if n := w.fake.Looks(); n != c.looks {
					t.Errorf("%d looks, want %d", n, c.looks)
				}
			})
		})
	}
}

func TestALookThatWasAskedForSaysWhenTheNextIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sees("a"))
		w.fake.To = func() time.Duration {
			if w.fake.Looks() == 2 {
				return 4 * time.Second
			}
			return 0
		}
		w.run(t)
		time.Sleep(time.Second)
		w.LookNow(fleet.PartExtra)
		synctest.Wait()
		time.Sleep(3 * time.Second)
		before := w.fake.Looks()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := w.fake.Looks(); before != 2 || n != 3 {
			t.Errorf("%d looks before what was seen ended, and %d then; want 2 and 3", before, n)
		}
	})
}
