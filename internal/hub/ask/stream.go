package ask

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// stream is one question, as its asker sees it, and what came of its answer.
type stream struct {
	asker *Asker
	to    string
	id    string
	inbox string
	heads bool // it asks with HEAD: an answer has no body

	mu      sync.Mutex
	changed sync.Cond
	replies int   // reply subjects that were named
	next    int64 // the number of the next part
	until   int64 // parts below it are allowed
	taken   int64 // parts that nobody has to read any more
	head    *part
	queue   [][]byte
	got     int64 // bytes
	asked   time.Time
	told    time.Time
	err     error // why no more comes: io.EOF after the whole answer
	ended   func()
}

func newStream(a *Asker, to, id string) *stream {
	now := time.Now()
	s := &stream{asker: a, to: to, id: id, inbox: a.inbox + "." + id, asked: now, told: now, until: a.window(), ended: func() {}}
	s.changed.L = &s.mu
	return s
}

// reply names the next reply subject.
func (s *stream) reply() string {
	s.replies++
	return s.inbox + "." + strconv.Itoa(s.replies-1)
}

// receive takes a message of the answer, or of a server that found nobody.
func (s *stream) receive(m *nats.Msg) {
	s.mu.Lock()
	err := s.err
	if err == nil {
		if err = s.read(m); err != nil {
			s.end(err)
		}
		s.changed.Broadcast()
	} else {
		err = nil
	}
	s.mu.Unlock()
	if isOurs(err) {
		s.cancel()
	}
}

// errFailed is of an answer that its own side ended.
var errFailed = errors.New("it broke off there")

// isOurs says whether the other side may not know that an answer is over.
func isOurs(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errFailed) && !errors.Is(err, ErrNotThere)
}

func (s *stream) read(m *nats.Msg) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == strconv.Itoa(http.StatusServiceUnavailable) {
		return s.nobody(m)
	}
	p, err := readPart(m.Data)
	if err != nil {
		return err
	}
	s.asker.hear(s.to)
	switch {
	case p.Fail != "":
		return fmt.Errorf("%w: %s", errFailed, p.Fail)
	case p.N != s.next:
		return fmt.Errorf("part %d of it came and not %d: what is between was lost", p.N, s.next)
	case p.Alive:
		return nil
	case p.N >= s.until:
		return fmt.Errorf("part %d of it came, and only those below %d were allowed", p.N, s.until)
	}
	return s.take(p)
}

// nobody is the error of a call that the hub could give to nobody: the question itself was not
// read then.
func (s *stream) nobody(m *nats.Msg) error {
	if m.Subject == s.inbox+".0" {
		return ErrNotThere
	}
	return errors.New("the host has left the hub")
}

// take takes the next part.
func (s *stream) take(p part) error {
	s.next++
	if p.N == 0 {
		s.head = &part{Status: p.Status, Header: p.Header}
	}
	if len(p.Data) == 0 {
		s.taken++
	} else {
		s.queue = append(s.queue, p.Data)
		s.got += int64(len(p.Data))
	}
	if !p.End {
		return nil
	}
	if want := s.length(); want >= 0 && want != s.got && !s.heads {
		return fmt.Errorf("it has %d bytes and not the %d that its head says", s.got, want)
	}
	return io.EOF
}

// length is how many bytes the head says that the answer has, -1 when it does not.
func (s *stream) length() int64 {
	n, err := strconv.ParseInt(s.head.Header.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// end ends the answer, after what has come of it; the mutex is held.
func (s *stream) end(err error) {
	if s.err == nil {
		s.err = err
		s.asker.forget(s)
		s.changed.Broadcast()
		s.ended()
	}
}

// give gives an answer up that is not over, and tells the other side.
func (s *stream) give(err error) {
	s.mu.Lock()
	over := s.err != nil
	s.end(err)
	s.mu.Unlock()
	if !over {
		s.cancel()
	}
}

// cancel tells the other side that nobody waits any more. When that is lost, it is found out there.
func (s *stream) cancel() {
	_ = s.asker.publish(s.to, "", call{Kind: kindCancel, ID: s.id}, nil)
}

// check gives a silent host up, and says when it is time that somebody waits still.
func (s *stream) check(now time.Time) {
	heard := s.asker.heardOf(s.to)
	s.mu.Lock()
	silent, due := min(now.Sub(heard), now.Sub(s.asked)), now.Sub(s.told) >= s.asker.beat.every()
	s.mu.Unlock()
	switch {
	case silent >= s.asker.beat.silent():
		s.give(fmt.Errorf("nothing was heard of it for %s", silent.Round(time.Millisecond)))
	case due:
		s.goOn()
	}
}

// goOn allows as many parts as there is room for now. That it does not get out is no error: it is
// said again, and counts once.
func (s *stream) goOn() {
	room := s.asker.window()
	s.mu.Lock()
	s.until = max(s.until, s.taken+room)
	s.told = time.Now()
	c, reply, over := call{Kind: kindGo, ID: s.id, Until: s.until}, s.reply(), s.err != nil
	s.mu.Unlock()
	if !over {
		_ = s.asker.publish(s.to, reply, c, nil)
	}
}

// answered waits for the head, or for the error of a question that gets none.
func (s *stream) answered() (*part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.head == nil && s.err == nil {
		s.changed.Wait()
	}
	switch {
	case s.head != nil:
		return s.head, nil
	case errors.Is(s.err, ErrNotThere):
		return nil, notThere(s.to)
	}
	return nil, inDoubt(s.to, s.err)
}

// body is what is read of an answer.
type body struct{ *stream }

// Read reads on, and waits for what has not come yet. After the last byte of an answer that did
// not come whole it returns an error that is io.ErrUnexpectedEOF.
func (b body) Read(to []byte) (int, error) {
	if len(to) == 0 {
		return 0, nil
	}
	for {
		n, due, err := b.readOnce(to)
		if due {
			b.goOn()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// readOnce reads what is there, or waits until something may be, and says whether it is time to
// allow more.
func (b body) readOnce(to []byte) (n int, due bool, _ error) {
	room := b.asker.window()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 {
		n = b.pull(to)
		return n, b.isDue(room), nil
	}
	switch {
	case errors.Is(b.err, io.EOF):
		return 0, false, io.EOF
	case b.err != nil:
		return 0, false, broken(b.to, b.err)
	case b.isDue(room):
		return 0, true, nil
	}
	b.changed.Wait()
	return 0, false, nil
}

// pull takes bytes of the oldest part.
func (b body) pull(to []byte) int {
	n := copy(to, b.queue[0])
	if b.queue[0] = b.queue[0][n:]; len(b.queue[0]) == 0 {
		b.queue[0], b.queue = nil, b.queue[1:]
		b.taken++
	}
	return n
}

// isDue says whether half of the room is free that is not allowed yet.
func (b body) isDue(room int64) bool {
	return b.err == nil && b.until-b.taken <= room/2
}

// Close gives the answer up, unless it is over.
func (b body) Close() error {
	b.give(errClosed)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = nil
	return nil
}
