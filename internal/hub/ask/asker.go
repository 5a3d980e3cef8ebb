package ask

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/protocol"
)

// AskerOptions are what an Asker needs.
type AskerOptions struct {
	// Sign returns the headers by which the host that is asked knows who asks, for a subject and
	// the whole message. Nil: none.
	Sign func(subject string, body []byte) (nats.Header, error)
	// Beat is how often it is said that somebody waits still; 0: 3 s. It is the same on all hosts.
	Beat time.Duration
}

// Asker asks other hosts over one connection with a hub, and takes their answers. It is safe for
// concurrent use.
type Asker struct {
	nc    *nats.Conn
	from  string
	inbox string // what its reply subjects begin with
	sign  func(string, []byte) (nats.Header, error)
	beat  beat
	sub   *nats.Subscription
	over  chan struct{}
	close func()
	begun chan struct{} // has one when a question has begun

	mu      sync.Mutex
	streams map[string]*stream // by the ID of the question
	// heard is when something came of a host last, for whichever question: where many answers share
	// a slow connection, one of them may have to wait long for its turn. That an answer is not being
	// made any more, by a host that lives, is what it answers to a go.
	heard map[string]time.Time
}

const (
	// window is how many parts an answer may be ahead of its reader: 1 MiB, 10 MB/s where a word
	// takes 100 ms to and fro.
	window = 16
	// budget is how many parts all answers together may be ahead, where each may be one ahead:
	// 16 MiB, a quarter of what nats-server holds for a connection before it closes it
	// (server/const.go, MAX_PENDING_SIZE).
	budget = 16 << 20 / usualData
)

// NewAsker listens for answers, until Close. from is the name of this host, under which the hub
// lets nc publish.
func NewAsker(nc *nats.Conn, from string, o AskerOptions) (*Asker, error) {
	if err := protocol.CheckHost(from); err != nil {
		return nil, err
	}
	a := &Asker{nc: nc, from: from, inbox: protocol.InboxPrefix(from) + "." + rand.Text(), sign: o.Sign, beat: beatOf(o.Beat), over: make(chan struct{}),
		begun: make(chan struct{}, 1), streams: map[string]*stream{}, heard: map[string]time.Time{}}
	if a.sign == nil {
		a.sign = func(string, []byte) (nats.Header, error) { return nil, nil }
	}
	a.close = sync.OnceFunc(func() { close(a.over) })
	var err error
	if a.sub, err = nc.Subscribe(a.inbox+".>", a.receive); err != nil {
		return nil, fmt.Errorf("cannot listen for answers of hosts: %w", err)
	}
	go a.beat.watch(a.over, a.begun, a.look)
	return a, nil
}

var errClosed = errors.New("nobody asks any more")

// Close ends what is being asked with an error, and hears of no answer any more.
func (a *Asker) Close() error {
	a.close()
	for _, s := range a.all() {
		s.give(errClosed)
	}
	err := a.sub.Unsubscribe()
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrBadSubscription) {
		return nil
	}
	return err
}

// receive hands a message to the answer that it belongs to, and never waits.
func (a *Asker) receive(m *nats.Msg) {
	id, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, a.inbox+"."), ".")
	a.mu.Lock()
	s := a.streams[id]
	a.mu.Unlock()
	if s != nil {
		s.receive(m)
	}
}

// look finds the answering hosts that are silent, and says where it is time that somebody waits still.
func (a *Asker) look(now time.Time) bool {
	list := a.all()
	for _, s := range list {
		if a.nc.IsClosed() {
			s.give(nats.ErrConnectionClosed)
		}
		s.check(now)
	}
	return len(list) > 0
}

func (a *Asker) all() []*stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.streams))
}

// add takes a question up.
func (a *Asker) add(s *stream) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.over:
		return errClosed
	default:
	}
	a.streams[s.id] = s
	wake(a.begun)
	return nil
}

func (a *Asker) forget(s *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.streams, s.id)
}

func (a *Asker) hear(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard[host] = time.Now()
}

func (a *Asker) heardOf(host string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[host]
}

// window is how many parts one answer may be ahead now.
func (a *Asker) window() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(min(window, max(1, budget/max(1, len(a.streams)))))
}

// publish sends a call, where there is a connection: what would be kept for later is not sent.
func (a *Asker) publish(to, reply string, c call, header nats.Header) error {
	data, err := c.encode()
	if err != nil {
		return err
	}
	return a.send(&nats.Msg{Subject: protocol.AskSubject(to, a.from), Reply: reply, Header: header, Data: data})
}

func (a *Asker) send(m *nats.Msg) error {
	if !a.nc.IsConnected() {
		return fmt.Errorf("cannot send to the hub: it is %s", strings.ToLower(a.nc.Status().String()))
	}
	return a.nc.PublishMsg(m)
}
