package folder

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// The usual ports: those of NATS for clients and for routes.
const (
	ClientPort  = 4222
	clusterPort = 6222
)

// Node is one node of a hub that is to be made.
type Node struct {
	Name string
	// Addresses at which hosts and other nodes reach it: HOST or HOST:PORT. None: loopback only.
	Addresses []string
	// ClusterPort is where other nodes connect; 0 for 6222.
	ClusterPort int
}

// ErrNotEmpty says that there is something in the folder already.
var ErrNotEmpty = errors.New("it is not empty")

// Init makes a hub in a folder that is missing or empty: its keys, its certificates (good for ten
// years from now), and the configuration of each node. That of a single node lies in dir, which is
// returned; those of several lie in folders beneath, by name, to be brought to their machines.
// Where it cannot be made whole, nothing of it is left.
func Init(dir string, nodes []Node, now time.Time) (dirs []string, err error) {
	if err := checkNodes(nodes); err != nil {
		return nil, err
	}
	if err := mustBeEmpty(dir); err != nil {
		return nil, fmt.Errorf("cannot make a hub in %s: %w", dir, err)
	}
	made := filepath.Clean(dir) + ".new"
	if err := os.Mkdir(made, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a hub: %w", err)
	}
	defer os.RemoveAll(made)
	if dirs, err = writeAll(made, dir, nodes, now); err != nil {
		return nil, fmt.Errorf("cannot make a hub: %w", err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // it is empty
		return nil, fmt.Errorf("cannot make a hub: %w", err)
	}
	if err := os.Rename(made, dir); err != nil {
		return nil, fmt.Errorf("cannot make a hub: %w", err)
	}
	return dirs, nil
}

var dnsName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

func checkNodes(nodes []Node) error {
	if len(nodes) == 0 {
		return errors.New("a hub has one node or more")
	}
	var names []string
	for _, n := range nodes {
		if err := protocol.CheckHost(n.Name); err != nil {
			return fmt.Errorf("node %q: want letters, digits, - and _", n.Name)
		}
		if slices.Contains(names, n.Name) {
			return fmt.Errorf("there are two nodes %s", n.Name)
		}
		names = append(names, n.Name)
		if len(nodes) > 1 && len(n.Addresses) == 0 {
			return fmt.Errorf("node %s has no address at which the others reach it", n.Name)
		}
		for _, a := range n.Addresses {
			host, _, err := HostPort(withPort(a, ClientPort))
			if err == nil && net.ParseIP(host) == nil && !dnsName.MatchString(host) {
				err = fmt.Errorf("%q: want HOST or HOST:PORT", a)
			}
			if err != nil {
				return fmt.Errorf("node %s: address %w", n.Name, err)
			}
		}
	}
	return checkApart(nodes)
}

// use is what a node listens at an address for.
type use struct {
	at, node string
	nodes    bool // for other nodes, and not for hosts
}

func uses(nodes []Node) (hosts, others []use) {
	for _, n := range nodes {
		for _, a := range n.reached() {
			hosts = append(hosts, use{plain(a), n.Name, false})
			if len(nodes) > 1 {
				others = append(others, use{n.forNodes(a), n.Name, true})
			}
		}
	}
	return hosts, others
}

// checkApart refuses an address that is used twice: two nodes do not run beside each other there, or are
// one for those who connect.
func checkApart(nodes []Node) error {
	seen := map[string]use{}
	hosts, others := uses(nodes)
	for _, u := range append(hosts, others...) {
		switch was, is := seen[u.at]; {
		case is && was.node != u.node:
			return fmt.Errorf("nodes %s and %s have one address, %s: each is to be on a machine of its own", was.node, u.node, u.at)
		case is && !u.nodes:
			return fmt.Errorf("node %s: address %s is named twice", u.node, u.at)
		case is && !was.nodes:
			return fmt.Errorf("node %s: address %s is where other nodes connect: want another port", u.node, u.at)
		}
		seen[u.at] = u
	}
	return nil
}

// plain is an address with its port, however it was written.
func plain(address string) string {
	host, port, _ := HostPort(address) // was checked
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	return net.JoinHostPort(strings.ToLower(host), strconv.Itoa(port))
}

// forNodes is where other nodes connect at an address.
func (n Node) forNodes(address string) string {
	host, _, _ := HostPort(address) // was checked
	return plain(net.JoinHostPort(host, strconv.Itoa(n.clusterPort())))
}

func mustBeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o700)
	}
	if err == nil && len(entries) > 0 {
		err = ErrNotEmpty
	}
	return err
}

// withPort adds a port to an address that has none.
func withPort(address string, port int) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

// reached are the addresses of a node, with ports.
func (n Node) reached() (out []string) {
	for _, a := range n.Addresses {
		out = append(out, withPort(a, ClientPort))
	}
	if len(out) == 0 {
		out = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(ClientPort))}
	}
	return out
}

// listen is where a node listens: at its one address where that is of this machine, as an IP is
// taken to be; at every address where it has names, or several.
func (n Node) listen() (host string, port int) {
	all := n.reached()
	host, port, _ = HostPort(all[0]) // was checked
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if len(all) > 1 || net.ParseIP(host) == nil {
		host = "0.0.0.0"
	}
	return host, port
}

func (n Node) clusterPort() int {
	if n.ClusterPort != 0 {
		return n.ClusterPort
	}
	return clusterPort
}

// config is hub.toml of one node.
func config(n Node, nodes []Node) Config {
	host, port := n.listen()
	c := Config{Node: n.Name, Listen: net.JoinHostPort(host, strconv.Itoa(port)), Nodes: len(nodes), Store: "store", Limits: usualLimits()}
	var routes []string
	for _, other := range nodes {
		for _, a := range other.reached() {
			c.URLs = append(c.URLs, "tls://"+a)
		}
		if other.Name != n.Name {
			first, _, _ := HostPort(other.reached()[0]) // was checked
			routes = append(routes, "tls://"+net.JoinHostPort(first, strconv.Itoa(other.clusterPort())))
		}
	}
	if len(nodes) > 1 {
		c.Cluster = &Cluster{Listen: net.JoinHostPort(host, strconv.Itoa(n.clusterPort())), Routes: routes}
	}
	return c
}

// writeAll writes what Init makes into made, and returns where the folders of nodes will be once
// that has become dir.
func writeAll(made, dir string, nodes []Node, now time.Time) (dirs []string, err error) {
	keys, err := credential.NewKeys()
	if err != nil {
		return nil, err
	}
	ca, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		at, will := made, dir
		if len(nodes) > 1 {
			at, will = filepath.Join(made, n.Name), filepath.Join(dir, n.Name)
		}
		if err := writeNode(at, keys, ca, n, nodes); err != nil {
			return nil, err
		}
		dirs = append(dirs, will)
	}
	return dirs, nil
}

func writeNode(dir string, keys credential.Keys, ca authority, n Node, nodes []Node) error {
	cert, certKey, err := ca.issue(n)
	if err != nil {
		return err
	}
	text, err := toml.Marshal(config(n, nodes))
	if err != nil {
		return err
	}
	seeds, err := keys.Bytes()
	if err != nil {
		return err
	}
	admin, err := keys.AdminCreds()
	if err != nil {
		return err
	}
	system, err := keys.SystemCreds()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{configName: text, caName: ca.pem, certName: cert, certKeyName: certKey, keysName: seeds, adminName: admin, systemName: system} {
		if err := credential.WriteSecret(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return writeAccounts(filepath.Join(dir, accountsDir), keys)
}

func writeAccounts(dir string, keys credential.Keys) error {
	all, err := keys.OtherAccounts()
	if err != nil {
		return err
	}
	if all[keys.Account()], err = keys.HostsAccount(nil); err != nil {
		return err
	}
	for key, text := range all {
		// As nats-server v2.15.2 names them: dirstore.go, fileExtension.
		if err := credential.WriteSecret(filepath.Join(dir, key+".jwt"), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
