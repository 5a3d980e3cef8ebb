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

// next is when it is looked again while so many answers are being made: an idle host wakes seldom.
func (b beat) next(answers int) time.Duration {
	if answers == 0 {
		return b.every()
	}
	return b.check()
}

// silent is after how long an asker gives an answering host up: with a check 9.75 s.
func (b beat) silent() time.Duration { return 3 * time.Duration(b) }

// gone is after how long an answering side gives an asker up: with a check 12.75 s.
func (b beat) gone() time.Duration { return 4 * time.Duration(b) }
