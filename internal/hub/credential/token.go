package credential

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"custos/internal/hub/protocol"
)

// tokenPrefix begins a token; a later form has another number.
const tokenPrefix, anyToken = "custos-join-1.", "custos-join-"

// IsToken says whether a text begins as a token does, of whichever form.
func IsToken(text string) bool { return strings.HasPrefix(text, anyToken) }

// Token is what lets one host join once. Printed, it shows nothing that lets anybody in.
type Token struct {
	URLs    []string  `json:"urls"`
	CA      string    `json:"ca"` // PEM of the certificate that the nodes are known by
	Account string    `json:"account"`
	Invite  string    `json:"invite"`
	Host    string    `json:"host"`
	Expires time.Time `json:"expires"`
	Creds   []byte    `json:"creds"` // of a user that may only join, until then
}

// NewInvite is the id of an invitation: 128 random bits.
func NewInvite() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails since Go 1.24 (crypto/rand)
	return hex.EncodeToString(id)
}

// Offer is what a token is made of.
type Offer struct {
	URLs    []string
	CA      []byte // PEM
	Invite  string
	Host    string
	Expires time.Time
}

// NewToken makes a token.
func (k Keys) NewToken(o Offer) (Token, error) {
	p, err := NewPair()
	if err != nil {
		return Token{}, err
	}
	text, err := k.joinUser(o.Invite, p.Public(), o.Expires)
	if err != nil {
		return Token{}, err
	}
	creds, err := p.Creds(text)
	return Token{URLs: o.URLs, CA: string(o.CA), Account: k.Account(), Invite: o.Invite, Host: o.Host, Expires: o.Expires.UTC(), Creds: creds}, err
}

// String shows whom it is for.
func (t Token) String() string { return "(token of host " + t.Host + ")" }

// GoString is as String.
func (t Token) GoString() string { return t.String() }

// Inbox is the prefix of the inboxes that its user may subscribe to.
func (t Token) Inbox() string { return joinInbox(t.Invite) }

// Encode is the text that is handed over: a secret until it is spent.
func (t Token) Encode() (string, error) {
	text, err := json.Marshal(t)
	sum := sha256.Sum256(text)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(sum[:4:4], text...)), err
}

// errDamaged is of what is not all of a token. A terminal takes 4095 bytes of a line, and says nothing of those beyond (Linux, N_TTY_BUF_SIZE).
var errDamaged = errors.New("this token is damaged: it was not copied whole (a terminal takes 4095 bytes: custos join - < FILE)")

// ReadToken reads what Encode wrote. A part of it, or one with a slip in it, is an error.
func ReadToken(text string) (t Token, err error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	if !ok && IsToken(text) {
		return t, errors.New("this token is of a newer Custos")
	}
	if !ok {
		return t, fmt.Errorf("this is no token: one begins with %s", tokenPrefix)
	}
	data, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || len(data) < 4 {
		return t, errDamaged
	}
	if sum := sha256.Sum256(data[4:]); !bytes.Equal(sum[:4], data[:4]) {
		return t, errDamaged
	}
	if err := json.Unmarshal(data[4:], &t); err != nil {
		return Token{}, errors.New("this token is damaged")
	}
	return t, t.check()
}

// check says what of a token is of no use.
func (t Token) check() error {
	if err := protocol.CheckHost(t.Host); err != nil {
		return fmt.Errorf("this token is damaged: %w", err)
	}
	if id, err := hex.DecodeString(t.Invite); err != nil || len(id) != 16 {
		return errors.New("this token is damaged: it has no invitation")
	}
	if len(t.URLs) == 0 || !nkeys.IsValidPublicAccountKey(t.Account) || !x509.NewCertPool().AppendCertsFromPEM([]byte(t.CA)) {
		return errors.New("this token is damaged: it does not say how a hub is reached and known")
	}
	return nil
}
