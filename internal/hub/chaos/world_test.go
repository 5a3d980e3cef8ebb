//go:build linux

package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/hub/folder"
	"custos/internal/hub/hubtest"
)

// The world that is played: which nodes there are and which hosts, and how far the boot clock of each host is
// ahead of the machine's.
const nodes = 3

var (
	hostsAhead = []time.Duration{0, 1000 * time.Second, 0, 100_000 * time.Second}
	keys       = []string{"k1", "k2", "k3", "k4", "k5"}
)

// world is a hub, its hosts, and what they share.
type world struct {
	t        *testing.T
	dir      string
	network  *network
	resource *resource
	program  string // custos-hub
	nodes    []*process
	nodeDirs []string
	hosts    []*process
	configs  []hostConfig

	mu     sync.Mutex
	killed []killed
	clones int
}

// killed says that what of a host ran at a moment was killed.
type killed struct {
	At   time.Duration
	Host string
}

// The disks that can be filled are small: those of the first node and of the first host.
const (
	nodeDisk = 48 << 20
	hostDisk = 32 << 20 // what it writes in half an hour has room
)

// newWorld makes it, each process in a network of its own, and waits until all hosts have joined.
func newWorld(t *testing.T, dir string, seed uint64) *world {
	t.Helper()
	w := &world{t: t, dir: dir, network: newNetwork(seed), resource: startResource(t, dir, seed), program: buildSkewed(t, dir)}
	var made []folder.Node
	for i := range nodes {
		made = append(made, folder.Node{Name: fmt.Sprintf("n%d", i), Addresses: []string{nodeAddr(i) + ":4222"}, ClusterPort: 6222})
	}
	dirs, err := folder.Init(filepath.Join(dir, "hub"), made, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.nodeDirs = dirs
	f, err := folder.Read(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	w.disk(f.StoreDir(), nodeDisk)
	for i := range nodes {
		w.nodes = append(w.nodes, w.node(i))
		w.nodes[i].up()
	}
	w.join()
	for i, ahead := range hostsAhead {
		w.configs = append(w.configs, w.config(i, ahead))
		w.hosts = append(w.hosts, w.host(w.configs[i], hostAddr(i)))
	}
	w.disk(w.configs[0].Store, hostDisk)
	for _, h := range w.hosts {
		h.up()
	}
	return w
}

func nodeAddr(i int) string { return fmt.Sprintf("10.77.0.%d", 11+i) }
func hostAddr(i int) string { return fmt.Sprintf("10.77.0.%d", 21+i) }
func hostName(i int) string { return fmt.Sprintf("h%d", i) }

// node is the process of a node.
func (w *world) node(i int) *process {
	log := appendTo(w.t, filepath.Join(w.dir, fmt.Sprintf("n%d.log", i)))
	p := &process{name: fmt.Sprintf("n%d", i), space: w.network.newSpace(w.t, nodeAddr(i)), make: func() *exec.Cmd {
		cmd := exec.Command(w.program, "--dir", w.nodeDirs[i])
		cmd.Env = append(os.Environ(), skewEnv+"="+w.skewFile(i))
		cmd.Stdout, cmd.Stderr = log, log
		return cmd
	}}
	w.t.Cleanup(func() { p.down(syscall.SIGKILL) })
	return p
}

func (w *world) skewFile(node int) string { return filepath.Join(w.dir, fmt.Sprintf("n%d.skew", node)) }

// config is what a host is told.
func (w *world) config(i int, ahead time.Duration) hostConfig {
	return hostConfig{Name: hostName(i), Joined: w.joined(i), Store: filepath.Join(w.dir, hostName(i)), Journal: filepath.Join(w.dir, hostName(i)+".journal"),
		Orders: filepath.Join(w.dir, hostName(i)+".orders"), Resource: w.resource.Socket, Keys: keys, TTL: time.Duration(fleet.LeaseTime), Ahead: ahead}
}

func (w *world) joined(host int) string { return filepath.Join(w.dir, hostName(host)+".joined") }

// host is the process of a host; "" for the address: in the network of the test.
func (w *world) host(c hostConfig, addr string) *process {
	log := appendTo(w.t, filepath.Join(w.dir, c.Name+".log"))
	text, err := json.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{name: c.Name, make: func() *exec.Cmd {
		cmd := itself(w.t, hostEnv, string(text))
		if c.Ahead != 0 {
			inTime(cmd, c.Ahead)
		}
		cmd.Stdout, cmd.Stderr = log, log
		return cmd
	}}
	if addr != "" {
		p.space = w.network.newSpace(w.t, addr)
	}
	w.t.Cleanup(func() { p.down(syscall.SIGKILL) })
	return p
}

// inTime has a command run in a time namespace, whose clocks are ahead. unshare becomes the command,
// and its process stays the same.
func inTime(cmd *exec.Cmd, ahead time.Duration) {
	seconds := fmt.Sprint(int64(ahead / time.Second))
	*cmd = exec.Cmd{Path: "/usr/bin/unshare", Env: cmd.Env,
		Args: append([]string{"unshare", "--time", "--boottime", seconds, "--monotonic", seconds}, cmd.Args...)}
}

// join has all hosts join, from within the network.
func (w *world) join() {
	w.t.Helper()
	c := joinConfig{Hub: w.nodeDirs[0], Hosts: map[string]string{}}
	for i := range hostsAhead {
		c.Hosts[hostName(i)] = w.joined(i)
	}
	w.eventually(time.Minute, "all hosts have joined", func() error { _, err := w.ask(c); return err })
}

// whole says which node leads the leases, or why they are not whole on all nodes.
func (w *world) whole() (leader string, err error) {
	return w.ask(joinConfig{Hub: w.nodeDirs[0], Whole: true})
}

// ask has a process in the network of the first node do something with the hub, and returns what it says.
func (w *world) ask(c joinConfig) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	cmd := itself(w.t, joinEnv, string(text))
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	if err = w.nodes[0].space.start(cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, wrong.String())
	}
	return said.String(), nil
}

// eventually waits until something is so.
func (w *world) eventually(within time.Duration, what string, try func() error) {
	w.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(within); ; {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			w.t.Errorf("not within %s: %s: %v", within, what, err)
			return
		}
	}
}

// disk lays a small disk over a folder.
func (w *world) disk(dir string, size int) {
	w.t.Helper()
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = unix.Mount("chaos", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	}
	if err != nil {
		w.t.Fatalf("cannot make a small disk: %v", err)
	}
	w.t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// note notes that what ran of a host was killed.
func (w *world) note(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed = append(w.killed, killed{uptime(), host})
}

// killedRuns are the runs that were killed, by the journals: the last of a host that was there then.
func (w *world) killedRuns(all []entry) map[string]bool {
	out := map[string]bool{}
	for _, k := range w.killed {
		run := ""
		for _, e := range all {
			if e.Host == k.Host && e.At <= k.At {
				run = e.Run
			}
		}
		out[run] = true
	}
	return out
}

// order tells a host something.
func (w *world) order(host int, o orders) {
	text, err := json.Marshal(o)
	if err != nil {
		w.t.Fatal(err)
	}
	put(w.t, w.dir, hostName(host)+".orders", string(text))
}

// ended are those processes that have ended by themselves.
func (w *world) ended() (out []end) {
	for _, p := range slices.Concat(w.nodes, w.hosts) {
		p.mu.Lock()
		out = append(out, p.ends...)
		p.mu.Unlock()
	}
	return out
}

// leave ends all hosts in order.
func (w *world) leave(within time.Duration) {
	var all sync.WaitGroup
	for _, h := range w.hosts {
		all.Go(func() {
			if !h.downWithin(within) {
				w.t.Errorf("host %s does not end within %s", h.name, within)
				w.note(h.name)
			}
		})
	}
	all.Wait()
}

// hubtestWorld has the world stand on a hub in this process, without networks of its own.
func hubtestWorld(t *testing.T, dir string, ttl time.Duration, hosts int) *world {
	t.Helper()
	w := &world{t: t, dir: dir, resource: startResource(t, dir, 1)}
	hub := hubtest.Start(t, nodes)
	for i := range hosts {
		if err := hub.Join(t, hostName(i)).Save(w.joined(i)); err != nil {
			t.Fatal(err)
		}
		c := w.config(i, 0)
		c.TTL = ttl
		w.configs = append(w.configs, c)
		w.hosts = append(w.hosts, w.host(c, ""))
		w.hosts[i].up()
	}
	return w
}
