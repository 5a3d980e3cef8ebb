package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// message is what is written, if the last message of its subject has a sequence.
type message struct {
	subject string
	after   uint64 // 0: there is none
	ttl     time.Duration
	value   any
	free    bool // the lease is given back
}

// put has a message written. Every answer but a wrong last sequence leaves open whether it was.
func (s *Store) put(ctx context.Context, m message) (uint64, error) {
	data, err := json.Marshal(m.value)
	if err != nil {
		return 0, err
	}
	msg := nats.NewMsg(m.subject)
	msg.Data = data
	if m.free {
		msg.Header.Set(opHeader, opPurge)
	}
	ack, err := s.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(s.stream()),
		jetstream.WithExpectLastSequencePerSubject(m.after), jetstream.WithMsgTTL(m.ttl))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// decide has a message written behind one that is known to have been the last, and asks again
// while another one is on its way: then a wrong last sequence is final.
func (s *Store) decide(ctx context.Context, m message) (uint64, error) {
	for {
		seq, err := s.put(ctx, m)
		if !isOnItsWay(err) {
			return seq, err
		}
		if err := rest(ctx); err != nil {
			return 0, err
		}
	}
}

// isWrongLast says whether a message was not written as another one is the last, or may be.
func isWrongLast(err error) bool {
	return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence) || isOnItsWay(err)
}

// isOnItsWay says whether another message of the subject is on its way (10164).
func isOnItsWay(err error) bool {
	return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

func hasCode(err error, code jetstream.ErrorCode) bool {
	var e *jetstream.APIError
	return errors.As(err, &e) && e.ErrorCode == code
}

// rest waits before a question is asked again.
func rest(ctx context.Context) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stored is a message as JetStream tells of it (jetstream/stream.go storedMsg, v1.55.0).
type stored struct {
	Sequence uint64 `json:"seq"`
	Header   []byte `json:"hdrs"`
	Data     []byte `json:"data"`
}

// last is what is known of a key, as the leader of the bucket has it; a leader that has lost its
// place may not know yet.
func (s *Store) last(ctx context.Context, key string) (entry, error) {
	m, err := s.get(ctx, s.subject(key))
	if err != nil || m == nil {
		return entry{}, err
	}
	h, err := header(m.Header)
	if err != nil {
		return entry{}, fmt.Errorf("cannot read the header of message %d of %s: %w", m.Sequence, s.stream(), err)
	}
	return s.read(s.subject(key), m.Sequence, h, m.Data)
}

func header(text []byte) (nats.Header, error) {
	if len(text) == 0 {
		return nats.Header{}, nil
	}
	return nats.DecodeHeadersMsg(text)
}

// get asks for the last message of a subject; nil: there is none. It is asked of the leader, as a
// follower may be late (jetstream_api.go jsMsgGetRequest, nats-server v2.15.2).
func (s *Store) get(ctx context.Context, subject string) (*stored, error) {
	ask, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return nil, err
	}
	msg, err := s.js.Conn().RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+s.stream(), ask)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *stored             `json:"message"`
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return nil, fmt.Errorf("cannot read an answer of JetStream: %w", err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Message == nil:
		return nil, errors.New("cannot read an answer of JetStream: it has no message")
	}
	return answer.Message, nil
}
