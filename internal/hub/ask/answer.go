package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"custos/internal/api"
)

// answer is one answer that is being made: an http.ResponseWriter that a handler writes to. It
// fits http.ResponseController, for flushes and for the deadline of writes.
type answer struct {
	server         *server
	from, id, path string
	bodyless       bool // the question is HEAD
	ctx            context.Context
	cancel         context.CancelCauseFunc

	mu      sync.Mutex
	changed sync.Cond
	reply   string // the newest reply subject
	until   int64  // parts below it may go
	n       int64  // the number of the next part
	header  http.Header
	status  int    // 0: not said yet
	buf     []byte // not sent yet
	heard   time.Time
	said    time.Time
	err     error // why nothing more goes
	whole   bool  // the last part has gone

	deadline *time.Timer
	set      int  // how often a deadline was set
	expired  bool // the one that was set last has passed
}

func newAnswer(s *server, from, reply string, c call) *answer {
	now := time.Now()
	a := &answer{server: s, from: from, id: c.ID, path: c.Path, bodyless: c.Method == http.MethodHead, reply: reply, until: c.Until, header: http.Header{}, heard: now, said: now}
	a.path, _, _ = strings.Cut(c.Path, "?") // what is logged has no queries
	a.changed.L = &a.mu
	a.ctx, a.cancel = context.WithCancelCause(context.Background())
	return a
}

// allow lets parts go, to a newer reply subject.
func (a *answer) allow(reply string, until int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reply, a.until, a.heard = reply, max(a.until, until), time.Now()
	a.changed.Broadcast()
}

// check ends an answer that nobody waits for, and says when it is time that it is being made.
func (a *answer) check(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.isOver():
	case now.Sub(a.heard) >= a.server.beat.gone():
		a.end(fmt.Errorf("nothing was heard of host %s for %s", a.from, now.Sub(a.heard).Round(time.Millisecond)))
	case now.Sub(a.said) >= a.server.beat.every():
		a.said = now
		a.server.publish(a.reply, part{N: a.n, Alive: true})
	}
}

// drop ends an answer without a word: nobody waits for it.
func (a *answer) drop(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(cause)
}

// fail ends an answer, and says why.
func (a *answer) fail(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isOver() {
		return
	}
	a.server.publish(a.reply, part{N: a.n, Fail: cause.Error()})
	a.end(cause)
}

// late ends an answer whose head has not gone yet.
func (a *answer) late() {
	a.mu.Lock()
	begun := a.n > 0
	a.mu.Unlock()
	if !begun {
		a.fail(fmt.Errorf("it had none after %s", a.server.HeadWithin))
	}
}

func (a *answer) isOver() bool { return a.err != nil || a.whole }

// end lets nothing more go; the mutex is held.
func (a *answer) end(cause error) {
	if a.isOver() {
		return
	}
	a.err = cause
	a.server.Counts.Broken.Add(1)
	a.cancel(cause)
	a.changed.Broadcast()
}

// close ends what is not ended yet, and all that belongs to an answer.
func (a *answer) close() {
	a.fail(errors.New("its handler ended without an answer"))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setDeadline(time.Time{})
	a.cancel(nil)
}

// replace answers with an error, where nothing has gone yet; else the answer breaks off.
func (a *answer) replace(e *api.Error) {
	if p, err := failed(e); err != nil || !a.isReplaced(p) {
		a.fail(e)
	}
}

func (a *answer) isReplaced(p part) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n > 0 {
		return false
	}
	a.status, a.header, a.buf = p.Status, p.Header, p.Data
	return a.send(true) == nil
}

// Header is that of the answer, until it goes out.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader says the status. One that is no final one is passed over, and a second one.
func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeHeader(status)
}

func (a *answer) writeHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

// Write keeps bytes until they fill a part or are flushed, and waits while the asker reads none.
func (a *answer) Write(b []byte) (n int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeHeader(http.StatusOK)
	switch {
	case a.err != nil:
		return 0, a.err
	case a.bodyless:
		return len(b), nil
	case a.status == http.StatusNoContent || a.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	}
	for n < len(b) && err == nil {
		took := min(len(b)-n, usualData-len(a.buf))
		a.buf = append(a.buf, b[n:n+took]...)
		n += took
		if len(a.buf) == usualData {
			err = a.send(false)
		}
	}
	return n, err
}

// FlushError has the asker have now what was written; without anything, the head.
func (a *answer) FlushError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeHeader(http.StatusOK)
	if a.n > 0 && len(a.buf) == 0 {
		return a.err
	}
	return a.send(false)
}

// Flush is FlushError for who asks for http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() }

// SetWriteDeadline says until when writing may wait for the asker; zero: as long as it lives. A write
// that was late ends the answer.
func (a *answer) SetWriteDeadline(t time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setDeadline(t)
	return nil
}

func (a *answer) setDeadline(t time.Time) {
	if a.deadline != nil {
		a.deadline.Stop()
	}
	a.set, a.deadline, a.expired = a.set+1, nil, false
	if t.IsZero() {
		return
	}
	set := a.set
	a.deadline = time.AfterFunc(time.Until(t), func() { a.expire(set) })
}

// expire wakes a write that waits, when the deadline is still the one that was set.
func (a *answer) expire(set int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if set == a.set {
		a.expired = true
		a.changed.Broadcast()
	}
}

// finish sends what is left, and that it is all.
func (a *answer) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeHeader(http.StatusOK)
	if a.n == 0 && len(a.buf) > 0 && a.header.Get("Content-Length") == "" {
		a.header.Set("Content-Length", strconv.Itoa(len(a.buf)))
	}
	if a.send(true) == nil {
		a.server.Counts.Answered.Add(1)
	}
}

// send sends what was written as the next part, as soon as the asker allows it.
func (a *answer) send(last bool) error {
	if err := a.wait(); err != nil {
		return err
	}
	if err := a.server.put(a.reply, a.part(last)); err != nil {
		err = fmt.Errorf("it could not be sent: %w", err)
		a.server.publish(a.reply, part{N: a.n, Fail: err.Error()})
		a.end(err)
		return err
	}
	a.n, a.buf, a.said, a.whole = a.n+1, a.buf[:0], time.Now(), last
	return nil
}

// wait waits until a part may go.
func (a *answer) wait() error {
	for a.err == nil && a.n >= a.until {
		if a.expired {
			a.server.publish(a.reply, part{N: a.n, Fail: "who asked did not read on"})
			a.end(fmt.Errorf("host %s does not read: %w", a.from, os.ErrDeadlineExceeded))
			break
		}
		a.changed.Wait()
	}
	return a.err
}

// part is what was written, as the next part.
func (a *answer) part(last bool) part {
	p := part{N: a.n, End: last, Data: a.buf}
	if a.n > 0 {
		return p
	}
	if len(a.buf) > 0 && a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", http.DetectContentType(a.buf))
	}
	p.Status, p.Header = a.status, http.Header{}
	for name, values := range a.header {
		if name = http.CanonicalHeaderKey(name); isAnswered(name) {
			p.Header[name] = values
		}
	}
	return p
}
