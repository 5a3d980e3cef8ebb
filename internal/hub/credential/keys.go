package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Keys are those of a hub: who has them can make hosts, and read and write all of it. The zero
// value is of no use: see NewKeys and ReadKeys. Printed, it shows nothing.
type Keys struct {
	operator, hosts, hub, system nkeys.KeyPair
}

// keyFile is how Keys are written down: seeds.
type keyFile struct {
	Version  int    `json:"version"`
	Operator string `json:"operator"`
	Hosts    string `json:"hosts"`
	Hub      string `json:"hub"`
	System   string `json:"system"`
}

// NewKeys makes the keys of a new hub.
func NewKeys() (k Keys, err error) {
	k.operator, err = nkeys.CreateOperator()
	for _, to := range []*nkeys.KeyPair{&k.hosts, &k.hub, &k.system} {
		if err == nil {
			*to, err = nkeys.CreateAccount()
		}
	}
	return k, err
}

// ReadKeys reads what Keys.Bytes wrote. The error says where in the file that it was read from something is
// wrong, and nothing of what stands there.
func ReadKeys(file string, data []byte) (k Keys, err error) {
	var f keyFile
	if err := json.Unmarshal(data, &f); err != nil {
		return k, misread(file, lineOf(data, err), errors.New("these are no keys of a hub"))
	}
	if f.Version != 1 {
		return k, misread(file, lineOfKey(data, "version"), fmt.Errorf("these keys are of version %d, and 1 is understood", f.Version))
	}
	for _, x := range []struct {
		name string
		to   *nkeys.KeyPair
		seed string
		is   func(string) bool
	}{{"operator", &k.operator, f.Operator, nkeys.IsValidPublicOperatorKey}, {"hosts", &k.hosts, f.Hosts, nkeys.IsValidPublicAccountKey},
		{"hub", &k.hub, f.Hub, nkeys.IsValidPublicAccountKey}, {"system", &k.system, f.System, nkeys.IsValidPublicAccountKey}} {
		if *x.to, err = nkeys.FromSeed([]byte(x.seed)); err != nil || !x.is(public(*x.to)) {
			return Keys{}, misread(file, lineOfKey(data, x.name), errors.New("a key of the hub is damaged"))
		}
	}
	return k, nil
}

// Bytes is how the keys are kept in a file: a secret.
func (k Keys) Bytes() ([]byte, error) {
	f := keyFile{Version: 1}
	for _, x := range []struct {
		to *string
		of nkeys.KeyPair
	}{{&f.Operator, k.operator}, {&f.Hosts, k.hosts}, {&f.Hub, k.hub}, {&f.System, k.system}} {
		seed, err := x.of.Seed()
		if err != nil {
			return nil, err
		}
		*x.to = string(seed)
	}
	return json.MarshalIndent(f, "", "  ")
}

// String shows nothing of the keys.
func (k Keys) String() string { return "(keys of a hub)" }

// GoString shows nothing of the keys.
func (k Keys) GoString() string { return k.String() }

// public is the public key of a pair that has one.
func public(pair nkeys.KeyPair) string {
	key, _ := pair.PublicKey() // of a seed there always is one
	return key
}

// Account is the public key of the account custos, in which hosts are: what they pin.
func (k Keys) Account() string { return public(k.hosts) }

// HubAccount is the public key of the account in which the buckets are, and no host is.
func (k Keys) HubAccount() string { return public(k.hub) }

// SystemAccount is the public key of the account in which the server is spoken with.
func (k Keys) SystemAccount() string { return public(k.system) }

// Operator is the JWT that the servers trust.
func (k Keys) Operator() (string, error) {
	c := jwt.NewOperatorClaims(public(k.operator))
	c.Name = "custos-hub"
	c.SystemAccount = k.SystemAccount()
	return c.Encode(k.operator)
}

// MaxConnections are those that all hosts together may have to one node. A server limits them for
// an account, not for a user of it (jwt v2.8.2, UserLimits): one host can use up those of all.
const MaxConnections = 4096

// HostsAccount is the JWT of the account of hosts, without these users: public key to when.
func (k Keys) HostsAccount(revoked map[string]time.Time) (string, error) {
	c := jwt.NewAccountClaims(k.Account())
	c.Name = "custos"
	c.Imports = imports(k.HubAccount())
	c.Limits.Conn, c.Limits.LeafNodeConn, c.Limits.DisallowBearer = MaxConnections, 0, true
	c.Revocations = jwt.RevocationList{}
	for key, at := range revoked {
		c.Revocations.Revoke(key, at)
	}
	return c.Encode(k.operator)
}

// OtherAccounts are the JWTs of the accounts of the hub and of the system, by public key.
func (k Keys) OtherAccounts() (map[string]string, error) {
	hub := jwt.NewAccountClaims(k.HubAccount())
	hub.Name = "custos_hub"
	hub.Limits.LeafNodeConn = 0
	hub.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit, MaxAckPending: jwt.NoLimit}
	// One export for all imports: see Permissions on cycles.
	hub.Exports.Add(&jwt.Export{Subject: ">", Type: jwt.Service, Name: "what hosts may ask"},
		&jwt.Export{Subject: ">", Type: jwt.Stream, Name: "what watches deliver"})
	system := jwt.NewAccountClaims(k.SystemAccount())
	system.Name = "system"
	out := map[string]string{}
	for _, c := range []*jwt.AccountClaims{hub, system} {
		text, err := c.Encode(k.operator)
		if err != nil {
			return nil, err
		}
		out[c.Subject] = text
	}
	return out, nil
}

// RevokedIn reads which users the JWT of an account does not let in any more, and since when.
func RevokedIn(account string) (map[string]time.Time, error) {
	c, err := jwt.DecodeAccountClaims(account)
	if err != nil {
		return nil, fmt.Errorf("cannot read the account: %w", err)
	}
	out := map[string]time.Time{}
	for key, at := range c.Revocations {
		out[key] = time.Unix(at, 0)
	}
	return out, nil
}
