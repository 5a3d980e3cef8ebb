package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nkeys"
)

// The versions of envelopes that are understood: the newest, which is written, and the one before
// it, once there is a second.
const (
	newestEnvelope = 1
	oldestEnvelope = 1
)

// MaxTTL is the longest that an envelope may be good for: a day.
const MaxTTL = 24 * time.Hour

// mostEnvelope bytes of text are read: what a message may have, and base64 of it.
const mostEnvelope = 2 << 20

// Envelope is what a host says, signed by it for one subject and a span of time: it says who it is
// from whatever way it came. Fields that a later version adds are passed over.
type Envelope struct {
	Version int       `json:"v"`
	JWT     string    `json:"jwt"` // of the host
	ID      []byte    `json:"id"`  // 16 random bytes: no envelope is heeded twice
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires"`
	Body    []byte    `json:"body"`
	Sig     []byte    `json:"sig"`
}

// Sign puts a body into an envelope for one subject, good from a moment for ttl, which is at most
// MaxTTL. Times are kept to the millisecond.
func Sign(by Identity, subject string, body []byte, at time.Time, ttl time.Duration) (Envelope, error) {
	if by.pair == nil {
		return Envelope{}, errors.New("cannot sign: there is no identity")
	}
	if ttl <= 0 || ttl > MaxTTL {
		return Envelope{}, fmt.Errorf("cannot sign for %s: it may be up to %s", ttl, MaxTTL)
	}
	at = at.UTC().Truncate(time.Millisecond)
	e := Envelope{Version: newestEnvelope, JWT: by.jwt, ID: make([]byte, 16), Issued: at, Expires: at.Add(ttl).Truncate(time.Millisecond), Body: body}
	_, _ = rand.Read(e.ID) // never fails since Go 1.24 (crypto/rand)
	var err error
	e.Sig, err = by.pair.Sign(e.signed(subject))
	return e, err
}

// signed is what is signed: a word of what it is, then each part with its length before it, so
// that no two contents are written alike.
func (e Envelope) signed(subject string) []byte {
	sum := sha256.Sum256(e.Body)
	out := []byte("custos-envelope\x00")
	out = binary.BigEndian.AppendUint64(out, uint64(e.Version))
	for _, part := range [][]byte{[]byte(subject), e.ID, []byte(e.JWT), sum[:]} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(e.Issued.UnixMilli()))
	return binary.BigEndian.AppendUint64(out, uint64(e.Expires.UnixMilli()))
}

// Encode is the envelope as JSON.
func (e Envelope) Encode() ([]byte, error) { return json.Marshal(e) }

// DecodeEnvelope reads what Encode wrote, and what an older or newer version did as far as it is
// understood. Nothing is verified by it.
func DecodeEnvelope(text []byte) (e Envelope, err error) {
	if len(text) > mostEnvelope {
		return e, fmt.Errorf("cannot read an envelope of %d bytes: %d are the most", len(text), mostEnvelope)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return Envelope{}, fmt.Errorf("cannot read an envelope: %w", err)
	}
	return e, e.check()
}

// check says what is wrong with the form of an envelope.
func (e Envelope) check() error {
	switch {
	case e.Version > newestEnvelope:
		return fmt.Errorf("this envelope is of version %d, and %d is the newest that is understood: it comes from a newer Custos", e.Version, newestEnvelope)
	case e.Version < oldestEnvelope:
		return fmt.Errorf("this envelope is of version %d, which is not understood", e.Version)
	case len(e.ID) != 16:
		return errors.New("this envelope has no id of 16 bytes")
	case e.Issued.Truncate(time.Millisecond) != e.Issued || e.Expires.Truncate(time.Millisecond) != e.Expires:
		return errors.New("the times of this envelope are finer than what is signed")
	case !e.Issued.Before(e.Expires) || e.Expires.Sub(e.Issued) > MaxTTL:
		return fmt.Errorf("this envelope is good from %s to %s", e.Issued.Format(time.RFC3339), e.Expires.Format(time.RFC3339))
	}
	return nil
}

// Why an envelope does not count. What else is wrong has no name: it is no envelope of a host.
var (
	ErrExpired  = errors.New("the envelope has expired")
	ErrNotYet   = errors.New("the envelope is from the future")
	ErrRevoked  = errors.New("the host that signed it is revoked")
	ErrStranger = errors.New("the account that is trusted did not let in who signed it")
	ErrForged   = errors.New("the signature does not fit")
)

// Trust is whose envelopes count.
type Trust struct {
	Account string   // public key of the account custos, pinned when this host joined
	Signing []string // further keys that the account signs users with; none by default
	// MaxSkew is how far the clocks of two hosts may differ.
	MaxSkew time.Duration
	// Revoked says whether the public key of a host is revoked; nil: none is.
	Revoked func(key string) bool
}

// Verify says which host has signed an envelope for a subject, if it counts now. That it was not
// heeded before is for Seen to say.
func (t Trust) Verify(e Envelope, subject string, now time.Time) (host string, err error) {
	if err := e.check(); err != nil {
		return "", err
	}
	c, err := hostClaims(e.JWT)
	if err != nil {
		return "", err
	}
	fromAccount := c.Issuer == t.Account && (c.IssuerAccount == "" || c.IssuerAccount == t.Account)
	fromSigning := c.IssuerAccount == t.Account && slices.Contains(t.Signing, c.Issuer)
	if t.Account == "" || !fromAccount && !fromSigning {
		return "", ErrStranger
	}
	if c.Expires != 0 && now.Add(-t.MaxSkew).Unix() >= c.Expires {
		return "", fmt.Errorf("the JWT of host %s: %w", c.Name, ErrExpired)
	}
	key, err := nkeys.FromPublicKey(c.Subject)
	if err != nil || key.Verify(e.signed(subject), e.Sig) != nil {
		return "", ErrForged
	}
	switch {
	case t.Revoked != nil && t.Revoked(c.Subject):
		return "", ErrRevoked
	case e.Issued.After(now.Add(t.MaxSkew)):
		return "", ErrNotYet
	case !now.Add(-t.MaxSkew).Before(e.Expires):
		return "", ErrExpired
	}
	return c.Name, nil
}
