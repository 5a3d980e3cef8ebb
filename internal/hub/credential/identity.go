package credential

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"custos/internal/hub/protocol"
)

// Identity is a host with its private key: what it signs with. Printed, it shows the name.
type Identity struct {
	host, jwt string
	pair      nkeys.KeyPair
}

// ReadIdentity reads credentials in the standard format of NATS. That they are of a host is seen;
// who has signed them is not.
func ReadIdentity(creds []byte) (Identity, error) {
	text, err := jwt.ParseDecoratedJWT(creds)
	if err != nil {
		return Identity{}, errors.New("these are no credentials of a host")
	}
	pair, err := nkeys.ParseDecoratedUserNKey(creds)
	if err != nil {
		return Identity{}, errors.New("these are no credentials of a host: the key cannot be read")
	}
	c, err := hostClaims(text)
	if err != nil {
		return Identity{}, err
	}
	if c.Subject != public(pair) {
		return Identity{}, errors.New("these credentials have a key of another")
	}
	return Identity{host: c.Name, jwt: text, pair: pair}, nil
}

// Host is its name.
func (i Identity) Host() string { return i.host }

// Key is its public key, U….
func (i Identity) Key() string { return public(i.pair) }

// String is the name.
func (i Identity) String() string { return i.host }

// GoString is the name.
func (i Identity) GoString() string { return i.host }

// HostOf reads whose JWT it is that a server let in: the name of the host, and its public key.
func HostOf(text string) (host, key string, err error) {
	c, err := hostClaims(text)
	if err != nil {
		return "", "", err
	}
	return c.Name, c.Subject, nil
}

// hostClaims reads the JWT of a host; that it is signed by its issuer is seen.
func hostClaims(text string) (*jwt.UserClaims, error) {
	c, err := jwt.DecodeUserClaims(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the JWT of a host: %w", err)
	}
	if !slices.Contains(c.Tags, hostTag) || !IsUserKey(c.Subject) {
		return nil, errors.New("this JWT is of no host")
	}
	return c, protocol.CheckHost(c.Name)
}
