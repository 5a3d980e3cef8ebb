package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// RefusedError is what the hub did not do, and why.
type RefusedError struct{ protocol.Refused }

// Error is what the hub says.
func (e *RefusedError) Error() string { return e.Why }

// Why nothing is known from the hub.
var (
	ErrNotReached = errors.New("the hub is not reached")      // nothing was asked
	ErrNoAnswer   = errors.New("the hub has given no answer") // it may have been done
)

// joinTries is how often is asked after no answer, and joinPause what lies between: with the same
// key, so that nothing is lost where the answer was; and for longer than the second in which a token
// ends, which a server lets in and throws out again.
const (
	joinTries = 4
	joinPause = 500 * time.Millisecond
)

// Join makes a key, has the hub let its host in with a token, and returns what is to be saved. The
// private key does not leave the process. The error is a *RefusedError, or an ErrNotReached or
// ErrNoAnswer.
func Join(ctx context.Context, t credential.Token) (j credential.Joined, err error) {
	pair, err := credential.NewPair()
	if err != nil {
		return j, err
	}
	var a protocol.Joined
	for range joinTries {
		a, err = askToJoin(ctx, t, pair.Public())
		if again := errors.Is(err, ErrNoAnswer) || errors.Is(err, nats.ErrNoResponders); !again || ctx.Err() != nil {
			break
		}
		time.Sleep(joinPause)
	}
	if err != nil {
		return j, err
	}
	if a.Kind != "" {
		return j, &RefusedError{a.Refused}
	}
	creds, err := pair.Creds(a.JWT)
	if err != nil {
		return j, fmt.Errorf("cannot use the answer of the hub: %w", err)
	}
	j = credential.Joined{URLs: a.URLs, CA: []byte(t.CA), Account: t.Account, Host: t.Host, Creds: creds}
	if err := j.Check(); err != nil {
		return credential.Joined{}, fmt.Errorf("cannot use the answer of the hub: %w", err)
	}
	return j, nil
}

func askToJoin(ctx context.Context, t credential.Token, key string) (a protocol.Joined, err error) {
	nc, err := Once(t.URLs, []byte(t.CA), t.Creds, t.Inbox())
	if notLetIn(err) {
		return a, outOfDate(t)
	}
	if err != nil {
		return a, fmt.Errorf("%w at %s: %w", ErrNotReached, strings.Join(t.URLs, ", "), err)
	}
	defer nc.Close()
	err = Ask(ctx, nc, protocol.JoinSubject(t.Invite), protocol.Join{Key: key}, &a)
	if err != nil && notLetIn(nc.LastError()) {
		return a, outOfDate(t)
	}
	return a, err
}

// notLetIn says whether a hub does not let in whoever comes with credentials. While it connects,
// nats.go v1.55.0 does not say by a value that they have expired (nats.go, sendConnect).
func notLetIn(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		err != nil && strings.Contains(strings.ToLower(err.Error()), nats.AUTHENTICATION_EXPIRED_ERR)
}

// outOfDate is said where the hub does not let in who holds a token. Its clock decides, and not ours.
func outOfDate(t credential.Token) error {
	return &RefusedError{protocol.Refused{Kind: protocol.Expired,
		Why: "the hub does not take this token: it was good until " + t.Expires.Format(time.RFC3339) + ", and for its own hub only"}}
}

// askFor is how long the hub is waited for: as long as it waits for JetStream, and a little.
const askFor = 12 * time.Second

// Ask has a service of the hub answer, and reads the answer.
func Ask(ctx context.Context, nc *nats.Conn, subject string, q, into any) error {
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, subject, text)
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("%w: %w", ErrNotReached, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		return fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	return nil
}
