package engineproxy

import (
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// aMinute is how many refusals are written down each minute; of the others, how many there
// were. What asks without end is not to fill a disk.
const aMinute = 60

// record writes down what was refused, and what was changed.
type record struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	since  time.Time
	count  int // in this minute
	silent int // of those, not written down
}

func newRecord(log *slog.Logger) *record {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &record{log: log, now: time.Now}
}

// refused writes down a refusal. What was asked comes from outside, and is quoted and cut.
func (c *record) refused(r *http.Request, why *refusal) {
	left, write := c.admit()
	if left > 0 {
		c.log.Warn("Refused more, of which nothing was written down", "count", left)
	}
	if write {
		c.log.Warn("Refused", "method", quoted(r.Method), "asked", quoted(r.RequestURI), "status", why.status, "why", why.why)
	}
}

// admit counts a refusal, and says whether it is written down. left are those of the minute
// before that were not.
func (c *record) admit() (left int, write bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.since) >= time.Minute || now.Before(c.since) {
		left, c.since, c.count, c.silent = c.silent, now, 0, 0
	}
	if c.count++; c.count > aMinute {
		c.silent++
		return left, false
	}
	return left, true
}

// changed writes down a change that was let through, and with which status the engine ended it.
func (c *record) changed(a ask, name, id string, status int) {
	c.log.Info("Let through "+a.what, "container", name, "id", id, "status", status)
}

func (c *record) broken(what string, err error) { c.log.Warn(what, "err", err) }

// quoted is a text from outside in one line, and not long.
func quoted(text string) string {
	return strconv.QuoteToASCII(text[:min(len(text), 300)])
}
