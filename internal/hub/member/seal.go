package member

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"time"

	natsclient "github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
)

const (
	// sealHeader is the header that says, signed, who asks.
	sealHeader = "Custos-Envelope"
	// goodFor is how long a question counts, and skew how far the wall clocks of two hosts may differ.
	goodFor = time.Minute
	skew    = 5 * time.Minute
	// mostSeen is how many questions of a host are remembered: 50 a second, for as long as they count.
	mostSeen = 50 * 60 * 12
)

// seal signs what this host asks, and tells who signed what it is asked.
type seal struct {
	by    credential.Identity
	trust credential.Trust
	seen  *credential.Seen
}

func newSeal(j credential.Joined, revoked func(key string) bool) (*seal, error) {
	by, err := j.Identity()
	if err != nil {
		return nil, err
	}
	return &seal{by: by, trust: credential.Trust{Account: j.Account, MaxSkew: skew, Revoked: revoked}, seen: credential.NewSeen(mostSeen)}, nil
}

// sign is the headers by which another host knows who asks: the sum of the message stands for it.
func (s *seal) sign(subject string, body []byte) (natsclient.Header, error) {
	sum := sha256.Sum256(body)
	e, err := credential.Sign(s.by, subject, sum[:], time.Now(), goodFor)
	if err != nil {
		return nil, err
	}
	text, err := e.Encode()
	if err != nil {
		return nil, err
	}
	return natsclient.Header{sealHeader: {string(text)}}, nil
}

// who is the host that signed a message, if it counts, and was not here before.
func (s *seal) who(subject string, header natsclient.Header, body []byte) (string, error) {
	e, err := credential.DecodeEnvelope([]byte(header.Get(sealHeader)))
	if err != nil {
		return "", err
	}
	now := time.Now()
	host, err := s.trust.Verify(e, subject, now)
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(body); !bytes.Equal(e.Body, sum[:]) {
		return "", errors.New("what is signed is another message")
	}
	return host, s.seen.First(host, e, now, skew)
}
