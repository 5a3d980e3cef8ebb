package server

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Changes counts what changes: passes that were committed, what is seen otherwise than
// before, what somebody did. Who waits is told the newest number; the ones between that it
// was too slow for are kept for nobody. It is safe for concurrent use.
type Changes struct {
	mu   sync.Mutex
	n    int64
	next chan struct{} // closed by the next change
}

// NewChanges counts from a number on that no Changes before it has had: who comes again
// after a daemon has begun anew must not take its first numbers for ones that it knows.
func NewChanges() *Changes {
	return &Changes{n: time.Now().UnixMilli(), next: make(chan struct{})}
}

// Note notes a change, and waits for nobody.
func (c *Changes) Note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	close(c.next)
	c.next = make(chan struct{})
}

// Newest is the number of the last change.
func (c *Changes) Newest() int64 {
	n, _ := c.newest()
	return n
}

// newest is the number of the last change, and is closed with the next one.
func (c *Changes) newest() (int64, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, c.next
}

const (
	// keepAlive is how often something is said on a stream though nothing changes: what is
	// between two machines forgets a connection that is silent for half a minute.
	keepAlive = 15 * time.Second
	// apart is how long a stream rests after each number: a burst of changes is one.
	apart = 100 * time.Millisecond
	// retryAfter is when a browser comes again whose stream has broken off: sooner than a
	// person notices that the daemon was begun anew.
	retryAfter = 500 * time.Millisecond
	// unread is how long a reader may not read before it is dropped.
	unread = 10 * time.Second
)

// changes streams the numbers of changes as server-sent events: the newest at once, and
// each newer one when it is there. It ends when the caller goes away, or reads no more.
func (s *server) changes(w http.ResponseWriter, req *http.Request) {
	out := newStream(w)
	if err := out.say(fmt.Sprintf("retry: %d\n\n", retryAfter.Milliseconds())); err != nil {
		return
	}
	last := int64(0)
	for {
		n, next := s.Changes.newest()
		said := ": nothing new\n\n"
		if n != last {
			said = fmt.Sprintf("id: %d\nevent: change\ndata: %d\n\n", n, n)
		}
		last = n
		if err := out.say(said); err != nil {
			s.Log.Debug("stream of changes ended", "err", err)
			return
		}
		if !waited(req, nil, apart) || !waited(req, next, keepAlive) {
			return
		}
	}
}

// waited waits until something is there, or so long; false when the caller has gone away.
func waited(req *http.Request, there <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-req.Context().Done():
		return false
	case <-there:
	case <-timer.C:
	}
	return true
}

// stream is an answer of server-sent events.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	return stream{w, http.NewResponseController(w)}
}

// Write writes to a reader that reads; one that does not is an error.
func (o stream) Write(b []byte) (int, error) {
	if err := o.rc.SetWriteDeadline(time.Now().Add(unread)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return o.w.Write(b)
}

// say has the reader have it now.
func (o stream) say(text string) error {
	if _, err := o.Write([]byte(text)); err != nil {
		return err
	}
	return o.rc.Flush()
}
