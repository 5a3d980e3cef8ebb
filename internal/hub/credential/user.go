package credential

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"custos/internal/hub/protocol"
)

// What a user of the account custos is, as a tag of its JWT.
const (
	hostTag = "custos-host"
	joinTag = "custos-join"
)

// Pair is a key pair of a user that does not leave the machine. Printed, it shows the public key.
type Pair struct{ pair nkeys.KeyPair }

// NewPair makes one.
func NewPair() (Pair, error) {
	pair, err := nkeys.CreateUser()
	return Pair{pair}, err
}

// Public is its public key, U….
func (p Pair) Public() string {
	if p.pair == nil {
		return ""
	}
	return public(p.pair)
}

// String is the public key.
func (p Pair) String() string { return p.Public() }

// GoString is the public key.
func (p Pair) GoString() string { return p.Public() }

// Creds is the pair with the JWT of its user, in the standard format of NATS: a secret.
func (p Pair) Creds(user string) ([]byte, error) {
	seed, err := p.pair.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(user, seed)
}

// IsUserKey says whether a text is the public key of a user.
func IsUserKey(key string) bool { return nkeys.IsValidPublicUserKey(key) }

// HostUser is the JWT of a host, which lets it do what Permissions says. It does not expire: it is
// revoked.
func (k Keys) HostUser(host, key string) (string, error) {
	if err := protocol.CheckHost(host); err != nil {
		return "", err
	}
	if !IsUserKey(key) {
		return "", errors.New("this is no public key of a user")
	}
	c := user(host, key, hostTag)
	c.Permissions = hostPermissions(host)
	return c.Encode(k.hosts)
}

// user is what all users have in common.
func user(name, key, tag string) *jwt.UserClaims {
	c := jwt.NewUserClaims(key)
	c.Name = name
	c.Tags.Add(tag)
	c.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard)
	c.Limits.Payload, c.Limits.Subs = protocol.MaxPayload, 1000
	return c
}

// joinUser is the JWT of one that may only join, with one invitation, until a moment.
func (k Keys) joinUser(invite, key string, until time.Time) (string, error) {
	c := user("join-"+invite, key, joinTag)
	c.Permissions.Pub.Allow.Add(protocol.JoinSubject(invite))
	c.Permissions.Sub.Allow.Add(joinInbox(invite) + ".>")
	c.Limits.Subs = 4
	c.Expires = until.Unix()
	return c.Encode(k.hosts)
}

// joinInbox is what the inboxes of one that joins begin with. It is the inbox of no host: the
// name of none begins with -.
func joinInbox(invite string) string { return protocol.InboxPrefix("-" + invite) }

// AdminCreds are credentials of the hub itself, in the account of its buckets.
func (k Keys) AdminCreds() ([]byte, error) { return k.creds("hub", k.hub) }

// SystemCreds are credentials of the hub itself, in the account of the system.
func (k Keys) SystemCreds() ([]byte, error) { return k.creds("system", k.system) }

func (k Keys) creds(name string, account nkeys.KeyPair) ([]byte, error) {
	p, err := NewPair()
	if err != nil {
		return nil, err
	}
	c := jwt.NewUserClaims(p.Public())
	c.Name = name
	c.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeInProcess}
	text, err := c.Encode(account)
	if err != nil {
		return nil, fmt.Errorf("cannot make the user %s: %w", name, err)
	}
	return p.Creds(text)
}
