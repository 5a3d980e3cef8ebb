package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"custos/internal/catalog"
	"custos/internal/fleet"
	"custos/internal/observe/spending"
)

// counted is how the counting of what models use goes on in this daemon.
type counted struct {
	mu        sync.Mutex
	at, noted time.Time // all was counted last, and that was written down last
	uncounted string    // why nothing is
	unread    string    // which conversations cannot be read
}

const (
	// nobodyCounts: one command reads no conversations.
	nobodyCounts = "no daemon runs that counts (custos up begins one)"
	// notReadYet: what was spent while no daemon ran is not counted yet.
	notReadYet = "conversations are being read since the daemon began"
	// noteEvery is how often it is written down that all was counted: after a kill it is not known of a time that long.
	noteEvery = time.Minute
)

// failed takes what kept something from being counted, and says whether that is news.
func (c *counted) failed(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := [2]string{c.uncounted, c.unread}
	c.take(err)
	return before != [2]string{c.uncounted, c.unread}
}

func (c *counted) take(err error) {
	switch {
	case err == nil:
	case errors.Is(err, catalog.ErrUnwritten):
		c.uncounted = fleet.Line(err.Error(), 300)
	default:
		c.unread = fleet.Line(err.Error(), 400)
	}
}

// all takes that all conversations were read at a moment, but those of the error, and says whether that is news.
func (c *counted) all(at time.Time, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := [2]string{c.uncounted, c.unread}
	if c.unread = ""; !errors.Is(err, catalog.ErrUnwritten) {
		c.at, c.uncounted = at, ""
	}
	c.take(err)
	return before != [2]string{c.uncounted, c.unread}
}

// toNote says whether it is time to write down that all was counted.
func (c *counted) toNote(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.noted.IsZero() || now.Sub(c.noted) >= noteEvery || now.Before(c.noted)
	if due {
		c.noted = now
	}
	return due
}

// howCounted is how what models use is being counted now.
func (s *system) howCounted(ctx context.Context) spending.Counting {
	c := &s.counted
	c.mu.Lock()
	out := spending.Counting{Uncounted: c.uncounted, Unread: c.unread, Counted: c.at}
	c.mu.Unlock()
	if !s.daemon {
		out.Uncounted = nobodyCounts
	}
	if out.Uncounted != "" && out.Counted.IsZero() {
		if st, err := s.ledger.reader(ctx); err == nil {
			out.Counted, _ = st.UsageRead(ctx) // zero where that cannot be told
		}
	}
	return out
}

// moreMayBe says why more may have been spent than was counted, as fleet.Spendings does.
func (s *system) moreMayBe(ctx context.Context) (notCounted, notRead string) {
	c := s.howCounted(ctx)
	v := fleet.Spendings{Uncounted: c.Uncounted, Unread: c.Unread, Counted: c.Counted}
	return v.NotCounted(), v.NotRead()
}
