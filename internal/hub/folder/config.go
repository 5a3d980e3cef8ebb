// Package folder is what lies in the folder of a node of a hub: its configuration, the certificates
// and keys that Init makes, and how they are read again. It speaks with nobody.
package folder

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// The files of the folder of a node.
const (
	configName  = "hub.toml"
	caName      = "ca.pem"
	certName    = "node.pem"
	certKeyName = "node.key"
	keysName    = "keys.json"
	adminName   = "admin.creds"
	systemName  = "system.creds"
	accountsDir = "accounts"
)

// Config is hub.toml.
type Config struct {
	Node   string   `toml:"node" comment:"name of this node"`
	Listen string   `toml:"listen" comment:"where hosts connect: HOST:PORT"`
	URLs   []string `toml:"urls" comment:"how hosts reach the hub: every node"`
	Nodes  int      `toml:"nodes" comment:"how many nodes there are; data is kept by up to three of them"`
	Store  string   `toml:"store" comment:"where data is kept; beside this file unless it begins with /"`
	// Cluster says how nodes reach each other; there is none of a single node.
	Cluster *Cluster `toml:"cluster,omitempty"`
	Limits  Limits   `toml:"limits" comment:"bytes that each bucket may hold: a full one refuses what is written, and keeps what it has"`
}

// Cluster is how nodes reach each other.
type Cluster struct {
	Listen string   `toml:"listen" comment:"where the other nodes connect: HOST:PORT"`
	Routes []string `toml:"routes" comment:"the other nodes: tls://HOST:PORT"`
}

// Limits are in bytes.
type Limits struct {
	Leases  int64 `toml:"leases"`
	Claims  int64 `toml:"claims"`
	Fleet   int64 `toml:"fleet"`
	Hosts   int64 `toml:"hosts"`
	Invites int64 `toml:"invites"`
}

// usualLimits are chosen, not measured: a thousand hosts with 256 KiB of fleet each.
func usualLimits() Limits {
	const mib = 1 << 20
	return Limits{Leases: 64 * mib, Claims: 64 * mib, Fleet: 256 * mib, Hosts: 16 * mib, Invites: 16 * mib}
}

// Of is the limit of a bucket.
func (l Limits) Of(bucket string) int64 {
	return map[string]int64{protocol.Leases: l.Leases, protocol.Claims: l.Claims,
		protocol.Fleet: l.Fleet, protocol.Hosts: l.Hosts, protocol.Invites: l.Invites}[bucket]
}

// Folder is the folder of a node, as it was read.
type Folder struct {
	Dir string
	Config
	CA, Cert, CertKey []byte // PEM
	Keys              credential.Keys
	Admin, System     []byte // credentials: secrets
}

// String shows no secret.
func (f Folder) String() string { return "(node " + f.Node + " of a hub)" }

// GoString is as String.
func (f Folder) GoString() string { return f.String() }

// Accounts is the folder in which the server keeps JWTs of accounts.
func (f Folder) Accounts() string { return filepath.Join(f.Dir, accountsDir) }

// StoreDir is where data is kept.
func (f Folder) StoreDir() string {
	if filepath.IsAbs(f.Store) {
		return f.Store
	}
	return filepath.Join(f.Dir, f.Store)
}

// Replicas is how many nodes keep each bucket: all, and at most three, so that one may fail.
func (c Config) Replicas() int { return min(3, c.Nodes) }

// Read reads what Init made, or a person has changed since. Of what is wrong the error says file and line.
func Read(dir string) (f Folder, err error) {
	f.Dir = dir
	if f.Config, err = readConfig(filepath.Join(dir, configName)); err != nil {
		return Folder{}, err
	}
	var keys []byte
	for _, x := range []struct {
		name string
		read func(string) ([]byte, error)
		to   *[]byte
	}{{caName, os.ReadFile, &f.CA}, {certName, os.ReadFile, &f.Cert}, {certKeyName, credential.ReadSecret, &f.CertKey},
		{keysName, credential.ReadSecret, &keys}, {adminName, credential.ReadSecret, &f.Admin}, {systemName, credential.ReadSecret, &f.System}} {
		if *x.to, err = x.read(filepath.Join(dir, x.name)); err != nil {
			return Folder{}, fmt.Errorf("cannot read the folder of a hub: %w", err)
		}
	}
	if f.Keys, err = credential.ReadKeys(filepath.Join(dir, keysName), keys); err != nil {
		return Folder{}, err
	}
	return f, nil
}

func readConfig(file string) (c Config, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("cannot read the configuration of a hub: %w", err)
	}
	d := toml.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("cannot read %s%w", file, placed(err))
	}
	if key, err := c.check(); err != nil {
		return c, fmt.Errorf("cannot read %s:%d: %s: %w", file, lineOf(string(text), key), key, err)
	}
	return c, nil
}

// placed says the line of what is wrong with a text.
func placed(err error) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Errorf(":%d: unknown key %q", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := bad.Position()
		return fmt.Errorf(":%d: %w", row, err)
	}
	return fmt.Errorf(": %w", err)
}

// lineOf is the first line that sets a key, which is written as table.key; else 1.
func lineOf(text, key string) int {
	key = key[strings.LastIndexByte(key, '.')+1:]
	for i, line := range strings.Split(text, "\n") {
		if name, _, is := strings.Cut(line, "="); is && strings.TrimSpace(name) == key {
			return i + 1
		}
	}
	return 1
}

// check says which key has no value of use.
func (c Config) check() (key string, err error) {
	if err := protocol.CheckHost(c.Node); err != nil {
		return "node", errors.New("want letters, digits, - and _")
	}
	if _, _, err := HostPort(c.Listen); err != nil {
		return "listen", err
	}
	for _, u := range c.URLs {
		if err := checkURL(u); err != nil {
			return "urls", err
		}
	}
	if len(c.URLs) == 0 {
		return "urls", errors.New("want how hosts reach the hub")
	}
	if c.Nodes < 1 || c.Nodes > 1 && c.Cluster == nil {
		return "nodes", errors.New("want how many there are, and the table [cluster] where it is more than one")
	}
	if c.Store == "" {
		return "store", errors.New("want a folder")
	}
	for _, bucket := range append(protocol.Readable(), protocol.Invites) {
		if c.Limits.Of(bucket) < protocol.MaxPayload {
			return "limits." + strings.TrimPrefix(bucket, "custos_"), fmt.Errorf("want %d bytes or more", protocol.MaxPayload)
		}
	}
	return c.checkCluster()
}

func (c Config) checkCluster() (key string, err error) {
	if c.Cluster == nil {
		return "", nil
	}
	if _, _, err := HostPort(c.Cluster.Listen); err != nil {
		return "cluster.listen", err
	}
	for _, u := range c.Cluster.Routes {
		if err := checkURL(u); err != nil {
			return "cluster.routes", err
		}
	}
	return "", nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "tls" || u.Hostname() == "" || u.Port() == "" || u.User != nil {
		return fmt.Errorf("%q: want tls://HOST:PORT", text)
	}
	return nil
}

// HostPort takes HOST:PORT apart.
func HostPort(text string) (host string, port int, err error) {
	host, number, err := net.SplitHostPort(text)
	if err == nil {
		port, err = strconv.Atoi(number)
	}
	if err != nil || host == "" || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%q: want HOST:PORT", text)
	}
	return host, port, nil
}
