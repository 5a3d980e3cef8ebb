package credential

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"custos/internal/hub/protocol"
)

// Joined is what a host keeps of a hub that it has joined.
type Joined struct {
	URLs    []string // of the nodes, tls://HOST:PORT
	CA      []byte   // PEM of the certificate that the nodes are known by
	Account string   // public key of the account custos: what Trust pins
	Host    string   // its name there
	Creds   []byte   // its JWT and private key, in the standard format of NATS: a secret
}

// joinedFile is hub.json.
type joinedFile struct {
	Version int      `json:"version"`
	URLs    []string `json:"urls"`
	Account string   `json:"account"`
	Host    string   `json:"host"`
}

// The files of a folder of Joined.
const (
	joinedName = "hub.json"
	credsName  = "hub.creds"
	caName     = "ca.pem"
)

var errNoURL = errors.New("it is not said where the hub is reached")

// String shows the host and no secret.
func (j Joined) String() string { return "(host " + j.Host + " of a hub)" }

// GoString is as String.
func (j Joined) GoString() string { return j.String() }

// Identity is what the host signs with.
func (j Joined) Identity() (Identity, error) { return ReadIdentity(j.Creds) }

// Check says what of it does not fit together.
func (j Joined) Check() error {
	if err := protocol.CheckHost(j.Host); err != nil {
		return err
	}
	if len(j.URLs) == 0 {
		return errNoURL
	}
	if !x509.NewCertPool().AppendCertsFromPEM(j.CA) {
		return errors.New("there is no certificate by which the hub is known")
	}
	id, err := j.Identity()
	if err != nil {
		return err
	}
	c, err := hostClaims(id.jwt)
	if err != nil {
		return err
	}
	if id.host != j.Host || c.Issuer != j.Account && c.IssuerAccount != j.Account {
		return fmt.Errorf("the credentials are of host %s of another hub, or of another host", id.host)
	}
	return nil
}

// Save writes it to a folder of its own, which is made: hub.json, hub.creds and ca.pem, each for
// this user only. hub.json comes last: without it nothing was saved.
func (j Joined) Save(dir string) error {
	if err := j.Check(); err != nil {
		return fmt.Errorf("cannot save what was joined: %w", err)
	}
	text, err := json.MarshalIndent(joinedFile{Version: 1, URLs: j.URLs, Account: j.Account, Host: j.Host}, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{caName, j.CA}, {credsName, j.Creds}, {joinedName, append(text, '\n')}} {
		if err := WriteSecret(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}

// Load reads what Save wrote. Where nothing was saved the error is os.ErrNotExist.
func Load(dir string) (j Joined, err error) {
	file := filepath.Join(dir, joinedName)
	text, err := os.ReadFile(file)
	if left := remains(dir); errors.Is(err, os.ErrNotExist) && left != "" {
		return j, fmt.Errorf("cannot read which hub was joined: %s is gone, and %s is there: join anew, or remove the folder to leave the hub", file, left)
	}
	if err != nil {
		return j, fmt.Errorf("cannot read which hub was joined: %w", err)
	}
	if j, err = readJoined(file, text); err != nil {
		return Joined{}, err
	}
	if j.CA, err = os.ReadFile(filepath.Join(dir, caName)); err == nil {
		j.Creds, err = ReadSecret(filepath.Join(dir, credsName))
	}
	if errors.Is(err, ErrOpen) {
		return Joined{}, fmt.Errorf("cannot use what was joined: %w", err)
	}
	if err == nil {
		err = j.Check()
	}
	if err != nil { // without %w: that something of it is missing is not to have joined none
		return Joined{}, fmt.Errorf("cannot use what was joined in %s: %v: join anew, or remove the folder to leave the hub", dir, err)
	}
	return j, nil
}

// readJoined reads hub.json.
func readJoined(file string, text []byte) (j Joined, err error) {
	var f joinedFile
	if err := json.Unmarshal(text, &f); err != nil {
		return j, misread(file, lineOf(text, err), err)
	}
	if f.Version != 1 {
		return j, misread(file, lineOfKey(text, "version"), fmt.Errorf("it is of version %d, and 1 is understood", f.Version))
	}
	if err := protocol.CheckHost(f.Host); err != nil {
		return j, misread(file, lineOfKey(text, "host"), err)
	}
	if len(f.URLs) == 0 {
		return j, misread(file, lineOfKey(text, "urls"), errNoURL)
	}
	return Joined{URLs: f.URLs, Account: f.Account, Host: f.Host}, nil
}

// remains is a file that is left of what was joined; "" for none.
func remains(dir string) string {
	for _, name := range []string{credsName, caName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}
