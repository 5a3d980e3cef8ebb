// Package nats keeps leases in a bucket of NATS JetStream: one entry for each key, whose message
// has a time after which the server takes it out (its TTL). Every change is one message with the
// sequence that the last message of its subject must have, and the server stores it or does not:
// that alone decides. What is read decides nothing.
//
// What is relied on, of github.com/nats-io/nats-server/v2 v2.15.2 (server/) and of
// github.com/nats-io/nats.go v1.55.0 (jetstream/):
//
//   - A message with the header Nats-TTL ends so many whole seconds after the server has stored it,
//     by the server's wall clock (stream.go parseMessageTTL cuts what is less than a second off;
//     filestore.go storeRawMsg). A message without it never ends: KeyValue.Update sends none
//     (jetstream/kv.go updateRevision with a TTL of 0), so nothing here is written by KeyValue.
//   - Where a bucket has a LimitMarkerTTL, an entry that ends is replaced by a message with the
//     header Nats-Marker-Reason (filestore.go handleRemovalOrSdm). That message is stored without a
//     look at which message is the last one: what is written while the server is about to store it
//     is lost. So a renewal counts only when its answer is here before the time of the lease that
//     it renews is over, as the server does not begin before that; and what Release leaves is a
//     message with KV-Operation: PURGE, which ends by its own sequence alone (sdm.go
//     isSubjectDeleteMarker), so that its end takes nothing else with it.
//   - A wrong last sequence is error 10071; on a bucket with replicas it is 10164 while another
//     message of the subject is on its way (jetstream_batching.go
//     checkMsgHeadersPreClusteredProposal), which says nothing of how that ends: it is asked again.
//
// Ends are measured by the wall clocks of the servers: one that is set forward, or the next leader
// of a bucket whose clock is ahead, ends leases early by as much.
package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/lease"
)

const (
	// Bucket is the name of the bucket where none is given.
	Bucket = "custos_leases"
	// markerTTL is how long it stays in the bucket that a lease ended: who watches, and who takes
	// the lease next, is told by it. Both look far sooner.
	markerTTL = time.Minute
	// mostBytes is the room of a bucket: some 10 000 leases of the longest keys.
	mostBytes = 16 << 20
	// defaultWait is how long a call waits for an answer where nothing else is said.
	defaultWait = 3 * time.Second
	// pause is how long is waited before a question is asked again that was not decided yet.
	pause = 20 * time.Millisecond
	// mostFloor is the largest epoch that may be asked for; the largest number that is counted to
	// is twice that.
	mostFloor = 1 << 62
)

// Options say which leases a Store keeps, and for whom.
type Options struct {
	Bucket string               // default Bucket
	TTL    time.Duration        // how long a lease lasts; the server keeps whole seconds: what is over is rounded up there
	Me     lease.Holder         // who takes leases
	Clock  func() fleet.Instant // of this host
	Wait   time.Duration        // how long a call waits for its answer; default 3 s
	// Warn is told of what was set aside, as an error that names it. It must not wait. nil: nobody is.
	Warn func(error)
}

// Store keeps leases in a bucket, as lease.Store says. It is safe for concurrent use.
type Store struct {
	js jetstream.JetStream
	o  Options
}

// New is a store in a bucket that is there already, made by Config, in the JetStream of the
// connection's own servers: neither of a domain nor behind a prefix. Nothing is asked of it yet.
func New(js jetstream.JetStream, o Options) *Store {
	if o.Bucket == "" {
		o.Bucket = Bucket
	}
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return &Store{js: js, o: o}
}

// Config says how the bucket is made, on so many servers. A hub of one server has to write each
// message to the disk before it answers (SyncAlways of its options): what a loss of power undoes
// of a lease, somebody else is given while its holder relies on it.
func Config(replicas int) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: Bucket, Description: "who of several hosts may act on what they share", History: 1,
		Storage: jetstream.FileStorage, Replicas: replicas, LimitMarkerTTL: markerTTL, MaxBytes: mostBytes,
	}
}

// Acquire takes a lease that nobody holds, as lease.Store says. Of a value that cannot be read it
// returns an error that names the key, and leaves it as it is.
func (s *Store) Acquire(ctx context.Context, key string, floor uint64) (lease.Lease, error) {
	if err := checkAsked(key, floor); err != nil {
		return lease.Lease{}, err
	}
	ctx, end := context.WithTimeout(ctx, s.o.Wait)
	defer end()
	l, err := s.acquire(ctx, key, floor)
	return l, failed("acquire", key, err)
}

func checkAsked(key string, floor uint64) error {
	if floor > mostFloor {
		return fmt.Errorf("cannot acquire the lease of %q by an epoch of %d or more: %d at most", key, floor, uint64(mostFloor))
	}
	return lease.CheckKey(key)
}

// acquire writes the lease behind what it takes for the last message of its key: none at first,
// and then what it finds. Only that it was written says that the lease is ours.
func (s *Store) acquire(ctx context.Context, key string, floor uint64) (lease.Lease, error) {
	for after := uint64(0); ; {
		l, err := s.create(ctx, key, floor, after)
		if !isWrongLast(err) {
			return l, err
		}
		last, err := s.last(ctx, key)
		if err != nil {
			return lease.Lease{}, err
		}
		if last.held {
			return s.ours(last), lease.ErrHeld
		}
		if last.seq == after { // it is on its way, or what answered has not heard of it yet
			if err := rest(ctx); err != nil {
				return lease.Lease{}, err
			}
		}
		after, floor = last.seq, max(floor, last.lease.Epoch+1)
	}
}

// create writes a lease as a new one, behind a message.
func (s *Store) create(ctx context.Context, key string, floor, after uint64) (lease.Lease, error) {
	sent := s.o.Clock()
	base, err := s.base(ctx, floor)
	if err != nil {
		return lease.Lease{}, err
	}
	seq, err := s.put(ctx, message{
		subject: s.subject(key), after: after, ttl: s.ttl(),
		value: value{V: version, Key: []byte(key), Holder: s.o.Me, Base: &base, Sent: sent},
	})
	if err != nil {
		return lease.Lease{}, err
	}
	return lease.Lease{Key: key, Holder: s.o.Me, Epoch: base + seq, Until: sent.Add(s.o.TTL), Token: seq}, nil
}

// Renew has a lease last for its whole time again, as lease.Store says. When the answer comes
// after the lease's time was over, it is not known what became of it.
func (s *Store) Renew(ctx context.Context, l lease.Lease) (lease.Lease, error) {
	ctx, end := context.WithTimeout(ctx, s.o.Wait)
	defer end()
	next, err := s.renew(ctx, l)
	if err != nil {
		return lease.Lease{}, failed("renew", l.Key, err)
	}
	return next, nil
}

func (s *Store) renew(ctx context.Context, l lease.Lease) (lease.Lease, error) {
	sent := s.o.Clock()
	if l.Holder != s.o.Me || l.Token == 0 || isOver(l, sent) {
		return lease.Lease{}, lease.ErrLost
	}
	seq, err := s.decide(ctx, message{
		subject: s.subject(l.Key), after: l.Token, ttl: s.ttl(),
		value: value{V: version, Key: []byte(l.Key), Holder: l.Holder, Epoch: l.Epoch, Sent: sent},
	})
	switch {
	case isWrongLast(err):
		return lease.Lease{}, lease.ErrLost
	case err != nil:
		return lease.Lease{}, err
	case isOver(l, s.o.Clock()):
		return lease.Lease{}, errors.New("the answer came after its time was over")
	}
	l.Token, l.Until = seq, sent.Add(s.o.TTL)
	return l, nil
}

// Release gives a lease back, as lease.Store says. One whose time is over is left to end by itself.
func (s *Store) Release(ctx context.Context, l lease.Lease) error {
	if l.Holder != s.o.Me || l.Token == 0 || isOver(l, s.o.Clock()) {
		return nil
	}
	ctx, end := context.WithTimeout(ctx, s.o.Wait)
	defer end()
	_, err := s.decide(ctx, message{
		subject: s.subject(l.Key), after: l.Token, ttl: markerTTL, free: true,
		value: value{V: version, Key: []byte(l.Key), Epoch: l.Epoch},
	})
	if isWrongLast(err) {
		return nil
	}
	return failed("release", l.Key, err)
}

// isOver says whether the time of a lease is over; of one that says nothing of it, it is not.
func isOver(l lease.Lease, now fleet.Instant) bool {
	return !l.Until.IsZero() && !now.Before(l.Until)
}

// ours says of a lease that was read until when it may be relied on, where it is ours: that it was
// asked for is written in it, by this host's clock.
func (s *Store) ours(e entry) lease.Lease {
	if e.lease.Holder == s.o.Me {
		e.lease.Until = e.sent.Add(s.o.TTL)
	}
	return e.lease
}

// ttl is how long the server keeps a lease: whole seconds, and one at least.
func (s *Store) ttl() time.Duration {
	return max(time.Second, (s.o.TTL + time.Second - 1).Truncate(time.Second))
}

func failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s the lease of %q: %w", what, key, err)
}
