package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/api"
	"custos/internal/hub/protocol"
)

// Options say how questions are answered.
type Options struct {
	// Authenticate says who asks, of a question's subject, headers and whole message, or why that
	// is refused; it refuses what it has seen before. It is called from several goroutines.
	Authenticate func(subject string, header nats.Header, body []byte) (from string, err error)
	// AtOnce is how many questions are answered at once; 0: 64.
	AtOnce int
	// OfOne is how many of them may be of one host, so that it leaves room for others; 0: all.
	OfOne int
	// HeadWithin is how long a handler may take until the head of its answer goes out, by writing
	// more than fits in one part, by a flush, or by returning; 0: 2 minutes.
	HeadWithin time.Duration
	Beat       time.Duration // as of AskerOptions
	Counts     *Counts       // nil: nothing is counted
	Log        *slog.Logger  // nil: nothing is logged
}

// Counts are what became of what was asked.
type Counts struct {
	Answered  atomic.Int64 // whole
	Broken    atomic.Int64 // not answered whole
	Malformed atomic.Int64 // no question of this version
	Refused   atomic.Int64 // Authenticate refused them, or they came again while they were answered
	Busy      atomic.Int64 // more than AtOnce
	Panics    atomic.Int64 // of handlers; Broken counts them too when their answer had begun
}

// server answers for one host.
type server struct {
	Options
	nc      *nats.Conn
	host    string
	handler func(from string) http.Handler
	beat    beat
	slots   chan struct{}
	running sync.WaitGroup
	begun   chan struct{} // has one when an answer has begun

	mu      sync.Mutex
	stopped bool
	answers map[string]*answer // by asker and ID of the question
}

// Serve answers what hosts ask host over nc, until ctx ends: with handler, which is given the name of
// the host that asks. Then it hears no more, what is being answered ends as an error, and it
// returns when the handlers have, or after 4 beats, with the error that some have not.
func Serve(ctx context.Context, nc *nats.Conn, host string, handler func(from string) http.Handler, o Options) error {
	if err := protocol.CheckHost(host); err != nil {
		return err
	}
	if o.Authenticate == nil {
		return errors.New("cannot answer other hosts: nothing says who asks")
	}
	s := newServer(nc, host, handler, o)
	// One of a group: where two daemons have the name of one host, one of them does what is ordered.
	sub, err := nc.QueueSubscribe(Listens(host), "ask", s.receive)
	if err != nil {
		return fmt.Errorf("cannot answer other hosts: %w", err)
	}
	s.beat.watch(ctx.Done(), s.begun, s.look)
	s.hearNoMore(sub)
	return s.stop()
}

// hearNoMore has the hub give this host no more calls, so that it is not there any more; those that
// were on their way are refused. Without a connection all of this is so already.
func (s *server) hearNoMore(sub *nats.Subscription) {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	err := sub.Drain()
	if err == nil {
		err = s.nc.FlushTimeout(s.beat.every())
	}
	if err != nil {
		s.Log.Debug("the hub was not told that this host answers no more", "err", err)
	}
}

func newServer(nc *nats.Conn, host string, handler func(string) http.Handler, o Options) *server {
	o.AtOnce, o.HeadWithin = cmp.Or(o.AtOnce, 64), cmp.Or(o.HeadWithin, 2*time.Minute)
	o.OfOne = cmp.Or(o.OfOne, o.AtOnce)
	if o.Counts == nil {
		o.Counts = &Counts{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &server{Options: o, nc: nc, host: host, handler: handler, beat: beatOf(o.Beat), slots: make(chan struct{}, o.AtOnce),
		begun: make(chan struct{}, 1), answers: map[string]*answer{}}
}

// look finds the askers that are silent, and says where it is time that an answer is still being made.
func (s *server) look(now time.Time) bool {
	list := s.all()
	for _, a := range list {
		a.check(now)
	}
	return len(list) > 0
}

func (s *server) all() []*answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.answers))
}

// stop ends all answers, and waits for the handlers.
func (s *server) stop() error {
	for _, a := range s.all() {
		a.fail(errStops)
	}
	ended := make(chan struct{})
	go func() { s.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(s.beat.gone()):
		return fmt.Errorf("cannot end what other hosts have asked: %d handlers go on after %s", len(s.all()), s.beat.gone())
	}
}

// receive takes a call, and never waits.
func (s *server) receive(m *nats.Msg) {
	from, is := whose(m.Subject, s.host)
	if !is {
		s.Counts.Malformed.Add(1)
		return
	}
	c, err := readCall(m.Data)
	if err == nil && c.Kind == kindAsk && (!protocol.IsInboxOf(from, c.Inbox) || m.Reply != c.Inbox+".0") {
		err = fmt.Errorf("cannot answer a question whose reply subject is not host %s's own", from)
	}
	if err != nil {
		s.Counts.Malformed.Add(1)
		s.refuse(from, m.Reply, &api.Error{Kind: api.BadInput, Message: err.Error()})
		return
	}
	switch c.Kind {
	case kindAsk:
		s.begin(from, m, c)
	case kindGo:
		s.goOn(from, m.Reply, c)
	case kindCancel:
		if a := s.find(from, c.ID); a != nil {
			a.drop(errors.New("who asked waits no more"))
		}
	}
}

func (s *server) find(from, id string) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[from+"."+id]
}

// goOn lets an answer go on. Of a question that is not being answered it is said so: this daemon
// has not taken it, or its asker has not heard how the answer ended.
func (s *server) goOn(from, reply string, c call) {
	if !protocol.IsInboxOf(from, reply) {
		s.Counts.Malformed.Add(1)
		return
	}
	if a := s.find(from, c.ID); a != nil {
		a.allow(reply, c.Until)
		return
	}
	s.publish(reply, part{Fail: "no such question is being answered there"})
}

// begin takes a question up, when there is room for it.
func (s *server) begin(from string, m *nats.Msg, c call) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.Counts.Busy.Add(1)
		s.refuse(from, m.Reply, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("host %s answers %d questions, and no more at once: nothing was done", s.host, s.AtOnce)})
		return
	}
	a := newAnswer(s, from, m.Reply, c)
	switch err := s.add(a); {
	case err == nil:
		go s.run(a, m, c)
		return
	case errors.Is(err, errStops):
		s.refuse(from, m.Reply, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("host %s stops: nothing was done", s.host)})
	case errors.Is(err, errMany):
		s.Counts.Busy.Add(1)
		s.refuse(from, m.Reply, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("host %s answers %d questions of one host, and no more at once: nothing was done", s.host, s.OfOne)})
	default: // what is said to it would be taken for the answer that is being made
		s.Counts.Refused.Add(1)
	}
	<-s.slots
}

var (
	errStops = errors.New("it stops")
	errMany  = errors.New("the host has asked for too much at once")
	errTwice = errors.New("it is being answered already")
)

// add keeps an answer, so that calls find it.
func (s *server) add(a *answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := a.from + "." + a.id
	switch {
	case s.stopped:
		return errStops
	case s.answers[key] != nil:
		return errTwice
	case s.asked(a.from) >= s.OfOne:
		return errMany
	}
	s.answers[key] = a
	s.running.Add(1)
	wake(s.begun)
	return nil
}

// asked is how many questions of a host are being answered; the mutex is held.
func (s *server) asked(from string) (n int) {
	for _, a := range s.answers {
		if a.from == from {
			n++
		}
	}
	return n
}

// remove lets go of an answer that has ended.
func (s *server) remove(a *answer) {
	s.mu.Lock()
	delete(s.answers, a.from+"."+a.id)
	s.mu.Unlock()
	<-s.slots
	s.running.Done()
}

// refuse answers with an error, where the reply subject is the asker's own.
func (s *server) refuse(from, reply string, e *api.Error) {
	if !protocol.IsInboxOf(from, reply) {
		return
	}
	if p, err := failed(e); err == nil {
		s.publish(reply, p)
	}
}

// failed is a whole answer that is an error.
func failed(e *api.Error) (part, error) {
	b, err := json.Marshal(e)
	return part{Status: e.HTTPStatus(), Header: http.Header{"Content-Type": {"application/json"}}, End: true, Data: b}, err
}

// publish sends a part. What cannot be sent is found missing by who asked.
func (s *server) publish(reply string, p part) {
	if err := s.put(reply, p); err != nil {
		s.Log.Debug("answer lost", "err", err)
	}
}

// put gives a part to the hub. Without a connection it would be kept, for a reply subject at which it
// may not come any more.
func (s *server) put(reply string, p part) error {
	data, err := p.encode()
	if err != nil {
		return err
	}
	if !s.nc.IsConnected() {
		return errors.New("the hub is not reached")
	}
	return s.nc.Publish(reply, data)
}
