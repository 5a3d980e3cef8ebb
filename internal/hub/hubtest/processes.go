package hubtest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// Process is a node that is a process of its own: it may be stopped, continued and killed by its
// *os.Process.
type Process struct {
	*os.Process
	Dir   string
	cmd   *exec.Cmd
	ready chan struct{} // closed when it says that the buckets are there
	gone  chan struct{} // closed when it has ended
}

// Fleet is a hub whose nodes are processes.
type Fleet struct {
	Nodes   []*Process
	Program string // custos-hub, as it was built
	t       testing.TB
}

// Processes builds custos-hub, runs a hub of some nodes, and returns when its buckets are there.
// What is left of them is killed at the end of the test.
func Processes(t testing.TB, nodes int) *Fleet {
	t.Helper()
	return Run(t, Build(t), nodes)
}

// Run is Processes with a program that was built before.
func Run(t testing.TB, program string, nodes int) *Fleet {
	t.Helper()
	f := &Fleet{t: t, Program: program}
	for _, dir := range Init(t, nodes) {
		f.Nodes = append(f.Nodes, &Process{Dir: dir})
	}
	t.Cleanup(f.killAll)
	for i := range f.Nodes {
		f.Restart(i)
	}
	for i := range f.Nodes {
		f.WaitReady(i)
	}
	return f
}

// Build builds custos-hub for a test.
func Build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "custos-hub")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "custos/cmd/custos-hub").CombinedOutput(); err != nil {
		t.Fatalf("cannot build custos-hub: %v\n%s", err, out)
	}
	return program
}

// Restart starts a node that has ended; see WaitReady.
func (f *Fleet) Restart(node int) {
	f.t.Helper()
	p := &Process{Dir: f.Nodes[node].Dir, ready: make(chan struct{}), gone: make(chan struct{})}
	p.cmd = exec.Command(f.Program, "--dir", p.Dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	p.Process = p.cmd.Process
	f.Nodes[node] = p
	go p.hear(out)
}

// hear reads what the process says until it has ended.
func (p *Process) hear(out io.Reader) {
	var once sync.Once
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ Msg string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			once.Do(func() { close(p.ready) })
		}
	}
	_ = p.cmd.Wait() // how it ended is in cmd.ProcessState
	close(p.gone)
}

// WaitReady waits until the buckets of a node are there.
func (f *Fleet) WaitReady(node int) {
	f.t.Helper()
	select {
	case <-f.Nodes[node].ready:
	case <-f.Nodes[node].gone:
		f.t.Fatalf("node %d has ended: %s", node, f.Nodes[node].cmd.ProcessState)
	case <-time.After(readyWithin):
		f.t.Fatalf("node %d has no buckets after %s", node, readyWithin)
	}
}

// Kill kills a node (kill -9), and returns when it is gone.
func (f *Fleet) Kill(node int) { f.end(node, syscall.SIGKILL) }

// End ends a node in order (SIGTERM), and returns how it ended.
func (f *Fleet) End(node int) *os.ProcessState {
	f.end(node, syscall.SIGTERM)
	return f.Nodes[node].cmd.ProcessState
}

func (f *Fleet) end(node int, how syscall.Signal) {
	f.t.Helper()
	p := f.Nodes[node]
	_ = p.Signal(how) // it may have ended
	select {
	case <-p.gone:
	case <-time.After(readyWithin):
		f.t.Fatalf("node %d does not end", node)
	}
}

func (f *Fleet) killAll() {
	for _, p := range f.Nodes {
		if p.Process != nil {
			_ = p.Process.Kill() // it may have ended
			<-p.gone
		}
	}
}

// URLs are where hosts reach it.
func (f *Fleet) URLs() []string { return urls(f.t, f.Nodes[0].Dir) }

// Admin is a connection of the hub itself, in the account of the buckets.
func (f *Fleet) Admin(t testing.TB) *nats.Conn { return admin(t, f.Nodes[0].Dir) }

// Invite makes a token for a host.
func (f *Fleet) Invite(t testing.TB, q protocol.Invite) credential.Token {
	t.Helper()
	return invite(t, f.Nodes[0].Dir, q)
}

// Join has a host join: as often as is asked, as it replaces the one of before.
func (f *Fleet) Join(t testing.TB, host string) credential.Joined {
	t.Helper()
	return joinHub(t, f.Nodes[0].Dir, host)
}

// Revoke revokes a host.
func (f *Fleet) Revoke(t testing.TB, host string) protocol.Revoked {
	t.Helper()
	return revoke(t, f.Nodes[0].Dir, host)
}
