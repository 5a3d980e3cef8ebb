package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/lease"
)

const (
	// heartbeat is how often the server says that there is nothing to tell.
	heartbeat = 5 * time.Second
	// silence is after how long without any word the watch is taken for lost.
	silence = 3 * heartbeat
	// forgotten is after how long the server forgets who watched and has gone away.
	forgotten = 10 * time.Second
	// parting is how long a watch that ends waits for the server to forget it at once.
	parting = 500 * time.Millisecond
)

// The header fields of what is no message but a word of the server (consumer.go
// sendIdleHeartbeat, nats-server v2.15.2).
const (
	statusHeader   = "Status"
	statusIdle     = "100"
	lastSentHeader = "Nats-Last-Consumer"
)

// errGap says that a word of the server did not come.
var errGap = errors.New("something was told that has not come")

// Watch tells of leases, as lease.Store says. It returns an error when the connection or the
// server is gone for some seconds, or when a message was missed: whoever watches again is told
// of all that is held. A value that cannot be read is told to Options.Warn, and to nobody else.
// It has no flow control, which would take one more permission: who is too slow misses a message.
func (s *Store) Watch(ctx context.Context, keys []string, tell func(lease.Lease)) error {
	err := s.watch(ctx, keys, tell)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("cannot watch the leases of the bucket %s: %w", s.o.Bucket, err)
}

func (s *Store) watch(ctx context.Context, keys []string, tell func(lease.Lease)) error {
	sub, err := s.js.Conn().SubscribeSync(s.js.Conn().NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	name, waiting, err := s.consume(ctx, sub.Subject, s.subjects(keys))
	if err != nil {
		return err
	}
	defer s.leave(name)
	w := watch{store: s, tell: tell, held: map[string]string{}}
	if waiting == 0 {
		w.all()
	}
	for {
		msg, err := next(ctx, sub)
		if err != nil {
			return err
		}
		if err := w.heard(msg); err != nil {
			return err
		}
	}
}

// subjects are those of keys, and one of which nothing is told, so that there is one; nil: of all.
func (s *Store) subjects(keys []string) []string {
	if keys == nil {
		return []string{s.prefix() + ">"}
	}
	out := []string{s.prefix() + baseName}
	for _, key := range keys {
		out = append(out, s.subject(key))
	}
	return out
}

// consume has the server tell the last message of each of subjects, and then every one, in their order.
// It returns its name, and how many messages it has to tell at first.
func (s *Store) consume(ctx context.Context, to string, subjects []string) (string, uint64, error) {
	ctx, end := context.WithTimeout(ctx, s.o.Wait)
	defer end()
	c, err := s.js.CreatePushConsumer(ctx, s.stream(), jetstream.ConsumerConfig{
		DeliverSubject: to, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, AckPolicy: jetstream.AckNonePolicy,
		FilterSubjects: subjects, IdleHeartbeat: heartbeat, InactiveThreshold: forgotten,
		MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return "", 0, err
	}
	is := c.CachedInfo()
	return is.Name, is.NumPending + uint64(is.NumAckPending) + is.Delivered.Consumer, nil
}

// leave has the server forget it; where that fails, it does so by itself.
func (s *Store) leave(consumer string) {
	ctx, end := context.WithTimeout(context.Background(), parting)
	defer end()
	_ = s.js.DeleteConsumer(ctx, s.stream(), consumer)
}

func next(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	within, end := context.WithTimeout(ctx, silence)
	defer end()
	msg, err := sub.NextMsgWithContext(within)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the server has said nothing for %v", silence)
	}
	return msg, err
}

// watch is one who is told.
type watch struct {
	store *Store
	tell  func(lease.Lease)
	count uint64            // of the messages that came
	held  map[string]string // by subject: the key that was told as held
	begun bool              // all that was held at the start was told
}

// heard takes one word of the server; an error says that one before it is missing.
func (w *watch) heard(msg *nats.Msg) error {
	if msg.Header.Get(statusHeader) == statusIdle {
		sent, err := strconv.ParseUint(msg.Header.Get(lastSentHeader), 10, 64)
		if err == nil && sent != w.count {
			err = errGap
		}
		return err
	}
	at, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("the server has said something else than a message: %w", err)
	}
	if w.count++; at.Sequence.Consumer != w.count {
		return errGap
	}
	w.message(msg, at.Sequence.Stream)
	if at.NumPending == 0 {
		w.all()
	}
	return nil
}

// all tells once that all that was held at the start was told.
func (w *watch) all() {
	if !w.begun {
		w.begun = true
		w.tell(lease.Lease{})
	}
}

// message tells what one says, unless it is that a lease has ended of which nothing was told.
func (w *watch) message(msg *nats.Msg, seq uint64) {
	if strings.TrimPrefix(msg.Subject, w.store.prefix()) == baseName {
		return
	}
	e, err := w.store.read(msg.Subject, seq, msg.Header, msg.Data)
	if err != nil {
		w.store.o.Warn(err)
		return
	}
	if e.held {
		w.held[msg.Subject] = e.lease.Key
		w.tell(w.store.ours(e))
		return
	}
	if key, is := w.held[msg.Subject]; is {
		delete(w.held, msg.Subject)
		w.tell(lease.Lease{Key: key})
	}
}
