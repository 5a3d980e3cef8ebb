package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/fleet"
	"custos/internal/lease"
)

// ClaimBucket is the name of the bucket of claims where none is given.
const ClaimBucket = "custos_claims"

// Claims keeps claims in a bucket, as lease.Claims says: the first message of a key is the claim, and the last one.
// The hub makes the bucket so that its servers refuse a second one. It is safe for concurrent use.
type Claims struct{ s *Store }

// NewClaims keeps claims in a bucket that is there already. Of the options the TTL means nothing: a claim does not end.
func NewClaims(js jetstream.JetStream, o Options) *Claims {
	if o.Bucket == "" {
		o.Bucket = ClaimBucket
	}
	return &Claims{New(js, o)}
}

// claimed is what is written of a claim.
type claimed struct {
	V      int           `json:"v"`
	Key    []byte        `json:"key"` // as base64: a key may have any byte
	Holder lease.Holder  `json:"holder"`
	At     fleet.Instant `json:"at"`
}

// Claim claims a key, as lease.Claims says. Of a value that cannot be read it returns an error that names the key, and
// leaves it as it is.
func (c *Claims) Claim(ctx context.Context, key string) (lease.Claim, error) {
	if err := lease.CheckKey(key); err != nil {
		return lease.Claim{}, err
	}
	ctx, end := context.WithTimeout(ctx, c.s.o.Wait)
	defer end()
	got, err := c.claim(ctx, key)
	if err != nil {
		return lease.Claim{}, fmt.Errorf("cannot claim %q: %w", key, err)
	}
	return got, nil
}

// claim writes a claim as the first message of its key. Where that was not answered, or refused, what is there says
// whose it is; where nothing is there yet, the message may be on its way.
func (c *Claims) claim(ctx context.Context, key string) (lease.Claim, error) {
	mine := claimed{V: version, Key: []byte(key), Holder: c.s.o.Me, At: c.s.o.Clock()}
	for {
		err := c.write(ctx, mine)
		if err == nil {
			return mine.claim(), nil
		}
		is, wrong := c.read(ctx, key)
		switch {
		case wrong != nil:
			return lease.Claim{}, errors.Join(err, wrong)
		case is != nil:
			return is.claim(), nil
		case !isWrongLast(err):
			return lease.Claim{}, err
		}
		if err := rest(ctx); err != nil {
			return lease.Claim{}, err
		}
	}
}

// write has half of the time, so that what became of it can be asked.
func (c *Claims) write(ctx context.Context, mine claimed) error {
	ctx, end := context.WithTimeout(ctx, c.s.o.Wait/2)
	defer end()
	_, err := c.s.put(ctx, message{subject: c.s.subject(string(mine.Key)), value: mine})
	return err
}

// read is what is there of a key, as the leader of the bucket has it; nil: nothing yet. What is there stays.
func (c *Claims) read(ctx context.Context, key string) (*claimed, error) {
	m, err := c.s.get(ctx, c.s.subject(key))
	if err != nil || m == nil {
		return nil, err
	}
	var v claimed
	err = json.Unmarshal(m.Data, &v)
	switch {
	case err != nil:
	case v.V != version:
		err = fmt.Errorf("it is of version %d, and %d is known", v.V, version)
	case string(v.Key) != key:
		err = fmt.Errorf("it is of the key %q", v.Key)
	case v.Holder.Host == "" || v.Holder.Run == "":
		err = errors.New("it names nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what is kept of it (message %d of %s), which is left as it is: %w", m.Sequence, c.s.stream(), err)
	}
	return &v, nil
}

func (v claimed) claim() lease.Claim {
	return lease.Claim{Key: string(v.Key), Holder: v.Holder, At: v.At}
}
