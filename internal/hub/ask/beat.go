package ask

import (
	"cmp"
	"time"
)

// beat is how often each side says that it is there; the numbers of beats are chosen so that
// with it an asker knows within 10 seconds that the answering host has died, and the answering
// side ends within 15 what nobody waits for.
type beat time.Duration

const usualBeat = 3 * time.Second

func beatOf(d time.Duration) beat { return beat(cmp.Or(d, usualBeat)) }

// every is the time between two words.
func (b beat) every() time.Duration { return time.Duration(b) }

// check is how often it is looked who is late.
func (b beat) check() time.Duration { return time.Duration(b) / 4 }

// watch has all that goes on be looked at again and again, from a word that something has begun until
// nothing goes on any more, which look says with false: an idle host is not woken.
func (b beat) watch(over, begun <-chan struct{}, look func(now time.Time) bool) {
	tick := time.NewTicker(b.check())
	defer tick.Stop()
	for goes := true; ; {
		select {
		case <-over:
			return
		case <-begun:
			if !goes {
				goes = true
				tick.Reset(b.check())
			}
		case now := <-tick.C:
			if goes = look(now); !goes {
				tick.Stop()
			}
		}
	}
}

// wake says that something has begun.
func wake(begun chan<- struct{}) {
	select {
	case begun <- struct{}{}:
	default:
	}
}

// silent is after how long an asker gives an answering host up: with a check 9.75 s.
func (b beat) silent() time.Duration { return 3 * time.Duration(b) }

// gone is after how long an answering side gives an asker up: with a check 12.75 s.
func (b beat) gone() time.Duration { return 4 * time.Duration(b) }
