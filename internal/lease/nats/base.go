package nats

import (
	"context"
	"encoding/json"
	"fmt"
)

// baseValue is what is written of the base of a bucket. It is the one entry that does not end.
type baseValue struct {
	V    int    `json:"v"`
	Base uint64 `json:"base"`
}

// base is what is added to the sequence of a message to be the epoch of the lease that it takes:
// 0, until an epoch is asked for that no sequence has come to. That is where a bucket was made anew,
// or put back from an old copy, and the daemons know of larger epochs. It only grows, and is of
// the whole bucket, as of a lease that ended by itself the server keeps nothing. So each epoch of
// a key is larger than the ones before it, whoever asks.
func (s *Store) base(ctx context.Context, floor uint64) (uint64, error) {
	for {
		base, seq, err := s.readBase(ctx)
		if err != nil || floor <= base+1 {
			return base, err
		}
		last, err := s.lastSequence(ctx)
		if err != nil || floor <= base+last+1 {
			return base, err
		}
		_, err = s.put(ctx, message{subject: s.prefix() + baseName, after: seq, value: baseValue{version, floor}})
		if err == nil {
			return floor, nil
		}
		if !isWrongLast(err) {
			return 0, err
		}
		if err := rest(ctx); err != nil {
			return 0, err
		}
	}
}

func (s *Store) readBase(ctx context.Context) (base, seq uint64, err error) {
	m, err := s.get(ctx, s.prefix()+baseName)
	if err != nil || m == nil {
		return 0, 0, err
	}
	var v baseValue
	if err = json.Unmarshal(m.Data, &v); err == nil && (v.V != version || v.Base > mostFloor) {
		err = fmt.Errorf("it is of version %d, and says %d", v.V, v.Base)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read what epochs begin with (message %d of %s), which is left as it is: %w", m.Sequence, s.stream(), err)
	}
	return v.Base, m.Sequence, nil
}

// lastSequence is the sequence of the last message of the bucket.
func (s *Store) lastSequence(ctx context.Context) (uint64, error) {
	str, err := s.js.Stream(ctx, s.stream())
	if err != nil {
		return 0, err
	}
	return str.CachedInfo().State.LastSeq, nil
}
