package lease

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"custos/internal/fleet"
)

func at(s int) fleet.Instant { return fleet.Instant{Up: fleet.Duration(s * 1e9), Boot: "b"} }

// holding is a keeper that holds a lease of epoch 5.
func holding(t *testing.T) *Keeper {
	t.Helper()
	k := NewKeeper(Holder{"a", "1"}, 15*time.Second)
	k.Want(at(0), "k")
	steps := k.Steps(at(0))
	if len(steps) != 1 || steps[0].Op != OpAcquire || steps[0].Floor != 1 {
		t.Fatalf("%+v", steps)
	}
	k.Answer(at(0), steps[0], Lease{Key: "k", Holder: Holder{"a", "1"}, Epoch: 5, Token: 5, Until: at(15)}, nil)
	if !k.At(at(1), "k").Mine {
		t.Fatal("it holds nothing")
	}
	return k
}

// TestALeaseThatWasTaken: who hears that another one holds what they hold relies on it no more; what is told late of
// one before them is no such news.
func TestALeaseThatWasTaken(t *testing.T) {
	k := holding(t)
	k.Saw(at(1), Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: 3, Token: 3})
	if !k.At(at(1), "k").Mine {
		t.Error("late news of an earlier holder ended it")
	}
	k.Saw(at(2), Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: 7, Token: 7})
	if s := k.At(at(2), "k"); s.Mine || s.Holder != "b" || s.Epoch != 7 {
		t.Errorf("it stands %+v", s)
	}
}

// TestNewsBeforeTheAnswer: that we hold what we have asked for may be told before the answer comes.
func TestNewsBeforeTheAnswer(t *testing.T) {
	k := NewKeeper(Holder{"a", "1"}, 15*time.Second)
	k.Want(at(0), "k")
	step := k.Steps(at(0))[0]
	l := Lease{Key: "k", Holder: Holder{"a", "1"}, Epoch: 5, Token: 5, Until: at(15)}
	k.Saw(at(0), l)
	if k.At(at(0), "k").Mine {
		t.Error("it relies on what it was told")
	}
	k.Answer(at(0), step, l, nil)
	if s := k.At(at(1), "k"); !s.Mine || s.Epoch != 5 {
		t.Errorf("it stands %+v, and is to ask %+v", s, k.Steps(at(1)))
	}
}

// TestAnEpochThatNobodyGives: one that is larger than any that an honest store gives keeps a lease from nobody.
func TestAnEpochThatNobodyGives(t *testing.T) {
	k := NewKeeper(Holder{"a", "1"}, 15*time.Second)
	k.Remember("k", math.MaxUint64)
	k.Want(at(0), "k")
	k.Saw(at(0), Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: math.MaxUint64, Token: 1})
	k.Saw(at(1), Lease{Key: "k"})
	if steps := k.Steps(at(3)); len(steps) != 1 || steps[0].Floor != 1 {
		t.Errorf("%+v", steps)
	}
}

// TestAStoreThatGivesNoLargerEpoch: what it gives is not relied on, and it is not asked again and again.
func TestAStoreThatGivesNoLargerEpoch(t *testing.T) {
	k := NewKeeper(Holder{"a", "1"}, 15*time.Second)
	k.Remember("k", 9)
	k.Want(at(0), "k")
	step := k.Steps(at(0))[0]
	k.Answer(at(0), step, Lease{Key: "k", Holder: Holder{"a", "1"}, Epoch: 4, Token: 4, Until: at(15)}, nil)
	if k.At(at(0), "k").Mine {
		t.Error("it relies on an epoch that has been")
	}
	back := k.Steps(at(0))
	if len(back) != 1 || back[0].Op != OpRelease {
		t.Fatalf("%+v", back)
	}
	k.Answer(at(0), back[0], Lease{}, nil)
	if steps := k.Steps(at(2)); len(steps) != 0 {
		t.Errorf("it is asked again at once: %+v", steps)
	}
	if steps := k.Steps(at(6)); len(steps) != 1 || steps[0].Floor != 10 {
		t.Errorf("%+v", steps)
	}
}

// TestAStoreWhoseClockWasSet: it ends a lease early, and gives it to another one, who does not rely on it before the time of
// the first is over, though it holds and renews it.
func TestAStoreWhoseClockWasSet(t *testing.T) {
	k := NewKeeper(Holder{"b", "1"}, 15*time.Second)
	k.Want(at(0), "k")
	step := k.Steps(at(0))[0]
	k.Answer(at(0), step, Lease{Key: "k", Holder: Holder{"a", "1"}, Epoch: 5, Token: 5}, ErrHeld)
	k.Saw(at(3), Lease{Key: "k", Holder: Holder{"a", "1"}, Epoch: 5, Token: 6}) // it was renewed
	k.Saw(at(4), Lease{Key: "k"})
	k.Want(at(6), "k")
	step = k.Steps(at(6))[0]
	k.Answer(at(6), step, Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: 7, Token: 7, Until: at(21)}, nil)
	if k.At(at(7), "k").Mine || k.At(at(17), "k").Mine {
		t.Error("it relies on it while the one before it does")
	}
	k.Want(at(9), "k")
	renew := k.Steps(at(9))
	if len(renew) != 1 || renew[0].Op != OpRenew {
		t.Fatalf("%+v", renew)
	}
	k.Answer(at(9), renew[0], Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: 7, Token: 8, Until: at(24)}, nil)
	if s := k.At(at(18), "k"); !s.Mine || s.Epoch != 7 {
		t.Errorf("it stands %+v", s)
	}
}

// TestWhatIsToldAgain is no renewal: whoever takes over from a holder that is gone waits for no time that it has not had.
func TestWhatIsToldAgain(t *testing.T) {
	k := NewKeeper(Holder{"b", "1"}, 15*time.Second)
	gone := Lease{Key: "k", Holder: Holder{"a", "1"}, Epoch: 5, Token: 6}
	k.Want(at(0), "k")
	step := k.Steps(at(0))[0]
	k.Answer(at(0), step, gone, ErrHeld)
	k.Saw(at(8), gone)
	k.Want(at(14), "k")
	step = k.Steps(at(14))[0]
	k.Answer(at(14), step, gone, ErrHeld) // as its end is not at the store yet
	k.Saw(at(16), Lease{Key: "k"})
	step = k.Steps(at(18))[0]
	k.Answer(at(18), step, Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: 7, Token: 7, Until: at(33)}, nil)
	if s := k.At(at(18), "k"); !s.Mine {
		t.Errorf("it stands %+v", s)
	}
}

// TestAllAreRenewedTogether: a host that holds many leases, taken at any moments, is woken as often as for one; and each
// is renewed five times in each of its times.
func TestAllAreRenewedTogether(t *testing.T) {
	const ttl, keys = 15 * time.Second, 20
	me := Holder{Host: "h", Run: "r"}
	k := NewKeeper(me, ttl)
	now, wakes, renewals := at(0), 0, map[string]int{}
	for until := at(60); now.Before(until); wakes++ {
		for i := range keys {
			if now.Up >= fleet.Duration(i)*fleet.Duration(ttl)/keys {
				k.Want(now, fmt.Sprint("k", i))
			}
		}
		for _, s := range k.Steps(now) {
			if s.Op == OpRenew {
				renewals[s.Key]++
			}
			k.Answer(now, s, Lease{Key: s.Key, Holder: me, Epoch: 1, Until: now.Add(ttl)}, nil)
		}
		next, is := k.Due(now)
		if grid := now.Add(ttl / keys); now.Up < fleet.Duration(ttl) && (!is || grid.Before(next)) {
			next = grid // something new is wanted
		}
		now = next
	}
	if most := keys + int(60*time.Second/(ttl/5)) + 5; wakes > most {
		t.Errorf("it was woken %d times, want %d at most", wakes, most)
	}
	for key, n := range renewals {
		if n < 14 || n > 21 {
			t.Errorf("%s was renewed %d times in a minute", key, n)
		}
	}
}

// TestAnErrorThatIsOver: why a store did not answer is told until it tells of that key again, though it is not asked then,
// as another one holds it.
func TestAnErrorThatIsOver(t *testing.T) {
	k := NewKeeper(Holder{"a", "1"}, 15*time.Second)
	k.Want(at(0), "k")
	k.Answer(at(0), k.Steps(at(0))[0], Lease{}, errors.New("outbound buffer limit exceeded"))
	if s := k.At(at(0), "k"); s.Why == "" {
		t.Errorf("it stands %+v", s)
	}
	k.Saw(at(1), Lease{Key: "k", Holder: Holder{"b", "1"}, Epoch: 7, Token: 7})
	if s := k.At(at(1), "k"); s.Holder != "b" || s.Why != "" {
		t.Errorf("it stands %+v", s)
	}
}
