package folder

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func initOne(t *testing.T, nodes ...Node) []Folder {
	t.Helper()
	dirs, err := Init(filepath.Join(t.TempDir(), "hub"), nodes, noon)
	if err != nil {
		t.Fatal(err)
	}
	var out []Folder
	for _, dir := range dirs {
		f, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// Unless it is told an address a hub listens on loopback alone; told a name, it listens on all.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		addresses, urls []string
		listen          string
	}{
		{nil, []string{"tls://127.0.0.1:4222"}, "127.0.0.1:4222"},
		{[]string{"localhost"}, []string{"tls://localhost:4222"}, "127.0.0.1:4222"},
		{[]string{"10.0.0.1:4333"}, []string{"tls://10.0.0.1:4333"}, "10.0.0.1:4333"},
		{[]string{"[::1]:4333"}, []string{"tls://[::1]:4333"}, "[::1]:4333"},
		{[]string{"hub.example.com"}, []string{"tls://hub.example.com:4222"}, "0.0.0.0:4222"},
		{[]string{"10.0.0.1", "hub.example.com"}, []string{"tls://10.0.0.1:4222", "tls://hub.example.com:4222"}, "0.0.0.0:4222"},
	} {
		f := initOne(t, Node{Name: "hub", Addresses: c.addresses})[0]
		if f.Listen != c.listen || !slices.Equal(f.URLs, c.urls) || f.Cluster != nil || f.Replicas() != 1 {
			t.Errorf("%q: it listens at %s and is %q", c.addresses, f.Listen, f.URLs)
		}
	}
}

// Each of several nodes knows the others, and all of them are told to hosts.
func TestNodes(t *testing.T) {
	all := initOne(t, Node{Name: "a", Addresses: []string{"10.0.0.1"}}, Node{Name: "b", Addresses: []string{"10.0.0.2:4333"}, ClusterPort: 7000},
		Node{Name: "c", Addresses: []string{"c.example.com"}}, Node{Name: "d", Addresses: []string{"10.0.0.4"}})
	urls := []string{"tls://10.0.0.1:4222", "tls://10.0.0.2:4333", "tls://c.example.com:4222", "tls://10.0.0.4:4222"}
	for _, f := range all {
		if !slices.Equal(f.URLs, urls) || f.Replicas() != 3 || f.Keys.Account() != all[0].Keys.Account() {
			t.Errorf("%s: %q", f.Node, f.URLs)
		}
	}
	if b := all[1].Cluster; b.Listen != "10.0.0.2:7000" || !slices.Equal(b.Routes, []string{"tls://10.0.0.1:6222", "tls://c.example.com:6222", "tls://10.0.0.4:6222"}) {
		t.Errorf("%+v", b)
	}
}

// Nodes that could not run beside each other, or would be one for hosts, are not made, and nothing is left of them.
func TestNodesThatAreInEachOthersWay(t *testing.T) {
	at := func(name string, cluster int, addresses ...string) Node {
		return Node{Name: name, Addresses: addresses, ClusterPort: cluster}
	}
	for _, c := range []struct {
		want  string // "": they are made
		nodes []Node
	}{
		{"there are two nodes a", []Node{at("a", 0, "10.0.0.1"), at("a", 0, "10.0.0.2")}},
		{"node a: address 10.0.0.1:4222 is named twice", []Node{at("a", 0, "10.0.0.1", "10.0.0.1:4222")}},
		{"node a: address hub.example.com:4222 is named twice", []Node{at("a", 0, "hub.example.com", "Hub.Example.com")}},
		{"node a: address [::1]:4222 is named twice", []Node{at("a", 0, "[::1]:4222", "[0:0::1]:4222")}},
		{"nodes a and b have one address, 10.0.0.1:4222", []Node{at("a", 0, "10.0.0.1"), at("b", 7000, "10.0.0.1")}},
		{"nodes a and b have one address, 10.0.0.1:4222", []Node{at("a", 0, "a.example.com", "10.0.0.1"), at("b", 7000, "b.example.com", "10.0.0.1")}},
		{"nodes a and b have one address, 10.0.0.1:6222", []Node{at("a", 0, "10.0.0.1:4222"), at("b", 0, "10.0.0.1:4333")}},
		{"nodes b and a have one address, 10.0.0.1:6222", []Node{at("a", 0, "10.0.0.1"), at("b", 7000, "10.0.0.1:6222")}},
		{"node a: address 10.0.0.1:6222 is where other nodes connect", []Node{at("a", 0, "10.0.0.1:6222"), at("b", 0, "10.0.0.2")}},
		{"", []Node{at("a", 0, "10.0.0.1:6222")}},
		{"", []Node{at("a", 7000, "127.0.0.1:4001"), at("b", 7001, "127.0.0.1:4002")}},
		{"", []Node{at("a", 0, "10.0.0.1", "10.0.0.1:4333", "a.example.com"), at("b", 0, "10.0.0.2")}},
	} {
		dir := filepath.Join(t.TempDir(), "x", "hub")
		_, err := Init(dir, c.nodes, noon)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: want %q, got %v", c.nodes, c.want, err)
		}
		if _, gone := os.Stat(filepath.Dir(dir)); err != nil && !os.IsNotExist(gone) {
			t.Errorf("%+v: something is left: %v", c.nodes, gone)
		}
	}
}

// A secret that others may read, or that is another user's, is not used, and it is said what to do.
func TestSecretsThatAreOpen(t *testing.T) {
	for _, name := range []string{"node.key", "keys.json", "admin.creds", "system.creds"} {
		f := initOne(t, Node{Name: "a"})[0]
		file := filepath.Join(f.Dir, name)
		if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(f.Dir); err == nil || !strings.Contains(err.Error(), "chmod 600 "+file) {
			t.Errorf("%s is open: %v", name, err)
		}
		if err := os.Chmod(file, 0o400); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(f.Dir); err != nil {
			t.Errorf("%s is ours alone: %v", name, err)
		}
	}
	f := initOne(t, Node{Name: "a"})[0]
	if err := os.Chmod(filepath.Join(f.Dir, "ca.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(f.Dir); err != nil {
		t.Errorf("a certificate is no secret: %v", err)
	}
}

// Of keys that are damaged the line is said, and nothing that stands there.
func TestDamagedKeys(t *testing.T) {
	f := initOne(t, Node{Name: "a"})[0]
	file := filepath.Join(f.Dir, "keys.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, instead string
		line         int
	}{{`"hosts": "SA`, `"hosts": "SX`, 4}, {`"hub": "`, `"hub": SA"`, 5}, {`"version": 1`, `"version": 2`, 2}, {"\n}", "", 6}} {
		if err := os.WriteFile(file, []byte(strings.Replace(string(whole), c.old, c.instead, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(f.Dir)
		if err == nil || !strings.Contains(err.Error(), file+":"+strconv.Itoa(c.line)+": ") || strings.Contains(err.Error(), "SA") || strings.Contains(err.Error(), "SX") {
			t.Errorf("%s: want line %d, got %v", c.instead, c.line, err)
		}
	}
}

// The certificate of a node is good for its addresses and for loopback, for ten years, and for nobody else.
func TestCertificates(t *testing.T) {
	all := initOne(t, Node{Name: "a", Addresses: []string{"10.0.0.1", "a.example.com"}}, Node{Name: "b", Addresses: []string{"10.0.0.2"}})
	pair, err := tls.X509KeyPair(all[0].Cert, all[0].CertKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	other := initOne(t, Node{Name: "a"})[0]
	for _, c := range []struct {
		name string
		ca   []byte
		at   time.Duration
		ok   bool
	}{
		{"10.0.0.1", all[1].CA, 0, true}, {"a.example.com", all[0].CA, 0, true}, {"localhost", all[0].CA, 0, true}, {"127.0.0.1", all[0].CA, goodFor - time.Second, true},
		{"127.0.0.1", all[0].CA, -30 * time.Minute, true}, {"10.0.0.2", all[0].CA, 0, false}, {"example.com", all[0].CA, 0, false}, {"10.0.0.1", other.CA, 0, false}, {"10.0.0.1", all[0].CA, goodFor + time.Second, false},
	} {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(c.ca)
		_, err := cert.Verify(x509.VerifyOptions{DNSName: c.name, Roots: pool, CurrentTime: noon.Add(c.at), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		if (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.name, c.at, err)
		}
	}
}

// Of what is wrong with hub.toml the line is said.
func TestConfig(t *testing.T) {
	f := initOne(t, Node{Name: "a", Addresses: []string{"10.0.0.1"}}, Node{Name: "b", Addresses: []string{"10.0.0.2"}})[0]
	file := filepath.Join(f.Dir, "hub.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, instead, want string }{
		{"node = 'a'", "node = 'a b'", "node: want letters"},
		{"node = 'a'", "nodee = 'a'", `unknown key "nodee"`},
		{"node = 'a'", "node = ", ": toml:"},
		{"listen = '10.0.0.1:4222'", "listen = '10.0.0.1'", "listen: "},
		{"urls = ['tls://10.0.0.1:4222'", "urls = ['nats://10.0.0.1:4222'", "want tls://HOST:PORT"},
		{"urls = ['tls://10.0.0.1:4222'", "urls = ['tls://me:secret@10.0.0.1:4222'", "want tls://HOST:PORT"},
		{"nodes = 2", "nodes = 0", "nodes: "},
		{"listen = '10.0.0.1:4222'", "listen = '10.0.0.1:0'", "listen: "},
		{"store = 'store'", "store = ''", "store: "},
		{"leases = 67108864", "leases = 5", "limits.leases: want 2097152 bytes or more"},
		{"routes = ['tls://10.0.0.2:6222']", "routes = ['10.0.0.2']", "cluster.routes: "},
	} {
		bad := strings.Replace(string(text), c.old, c.instead, 1)
		if bad == string(text) {
			t.Fatalf("there is no %s in\n%s", c.old, text)
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		at := 1 + strings.Count(bad[:strings.Index(bad, c.instead)], "\n")
		_, err := Read(f.Dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file+":"+strconv.Itoa(at)+":") {
			t.Errorf("%s: want line %d and %q, got %v", c.instead, at, c.want, err)
		}
	}
}

// A folder of which a file is missing or damaged is not run.
func TestDamagedFolder(t *testing.T) {
	for _, name := range []string{"hub.toml", "ca.pem", "node.pem", "node.key", "keys.json", "admin.creds", "system.creds"} {
		f := initOne(t, Node{Name: "a"})[0]
		if err := os.Remove(filepath.Join(f.Dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(f.Dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("node = 'a'\nlisten = '127.0.0.1:0'\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "hub.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := readConfig(file)
		if err == nil && (c.Nodes < 1 || c.Node == "") {
			t.Errorf("it is read from %q", text)
		}
	})
}
