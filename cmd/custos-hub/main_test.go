package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// One of three nodes is killed while a host writes, and two hang.
func TestSomeFail(t *testing.T) {
	t.Parallel()
	f := hubtest.Processes(t, 3)
	a := hubtest.Connect(t, f.Join(t, "a"), wire.Options{})
	write(t, a, protocol.Leases, "x", "1")
	f.Kill(1)
	write(t, a, protocol.Leases, "x", "2")
	f.Restart(1)
	f.WaitReady(1)
	send(t, f, syscall.SIGSTOP, 1, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := put(ctx, a, protocol.Leases, "y", "lost"); err == nil {
		t.Error("one of three nodes has written a lease")
	}
	send(t, f, syscall.SIGCONT, 1, 2)
	write(t, a, protocol.Leases, "x", "3")
}

// All nodes are killed, and started again: what lies in files is there. With CUSTOS_TOWN=1 there are
// three, which takes 20 seconds.
func TestAllAreKilled(t *testing.T) {
	t.Parallel()
	nodes := 1
	if os.Getenv("CUSTOS_TOWN") != "" {
		nodes = 3
	}
	f := hubtest.Processes(t, nodes)
	a := hubtest.Connect(t, f.Join(t, "a"), wire.Options{})
	write(t, a, protocol.Leases, "x", "1")
	write(t, a, protocol.Orders, "a.b.1", "do")
	write(t, a, protocol.Fleet, "a.agents", "one")
	for i := range f.Nodes {
		f.Kill(i)
	}
	for i := range f.Nodes {
		f.Restart(i)
	}
	f.WaitReady(0)
	read(t, a, protocol.Leases, "x", "1")
	read(t, a, protocol.Orders, "a.b.1", "do")
	read(t, a, protocol.Hosts, "a", `{"name":"a"`)
	if v, err := get(t.Context(), a, protocol.Fleet, "a.agents"); err == nil {
		t.Errorf("what is kept in memory is still there: %s", v)
	}
	if how := f.End(0); how.ExitCode() != 0 {
		t.Errorf("told to end, it ended with %s", how)
	}
	out, err := exec.Command(f.Program).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "want --dir DIR") {
		t.Errorf("without a folder: %v %s", err, out)
	}
}

func send(t *testing.T, f *hubtest.Fleet, s syscall.Signal, nodes ...int) {
	t.Helper()
	for _, n := range nodes {
		if err := f.Nodes[n].Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// write writes a row, as soon as there is a quorum.
func write(t *testing.T, nc *nats.Conn, bucket, key, value string) {
	t.Helper()
	hubtest.Eventually(t, 30*time.Second, key+" is written", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return put(ctx, nc, bucket, key, value) == nil
	})
}

func read(t *testing.T, nc *nats.Conn, bucket, key, want string) {
	t.Helper()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("%s of %s is %q", key, bucket, got)
		}
	}()
	hubtest.Eventually(t, 30*time.Second, key+" is "+want, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, _ = get(ctx, nc, bucket, key) // it may not be there yet
		return strings.HasPrefix(got, want)
	})
}
