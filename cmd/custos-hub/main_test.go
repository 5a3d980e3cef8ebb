package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/hub/hubtest"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

func TestProcesses(t *testing.T) {
	program := hubtest.Build(t)
	t.Run("some fail", func(t *testing.T) { someFail(t, program) })
	t.Run("all are killed", func(t *testing.T) { allAreKilled(t, program) })
}

// One of three nodes is killed while a host writes, and two hang. With CUSTOS_TOWN=1 it is the one that
// leads, after which the others take up to 9 seconds to choose another (nats-server v2.15.2,
// raft.go, maxElectionTimeoutDefault).
func someFail(t *testing.T, program string) {
	t.Parallel()
	f := hubtest.Run(t, program, 3)
	a := hubtest.Connect(t, f.Join(t, "a"), wire.Options{})
	write(t, a, protocol.Leases, "x", "1")
	leader := leads(t, f, protocol.Leases)
	victim, other := (leader+1)%3, (leader+2)%3
	if os.Getenv("CUSTOS_TOWN") != "" {
		victim = leader
	}
	f.Kill(victim)
	write(t, a, protocol.Leases, "x", "2")
	f.Restart(victim)
	send(t, f, syscall.SIGSTOP, victim, other)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := put(ctx, a, protocol.Leases, "y", "lost"); err == nil {
		t.Error("one of three nodes has written a lease")
	}
	send(t, f, syscall.SIGCONT, victim, other)
	write(t, a, protocol.Leases, "x", "3")
}

// leads is the node that leads a bucket.
func leads(t *testing.T, f *hubtest.Fleet, bucket string) int {
	t.Helper()
	js, err := jetstream.New(f.Admin(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), protocol.Stream(bucket))
	if err != nil {
		t.Fatal(err)
	}
	node, err := strconv.Atoi(strings.TrimPrefix(s.CachedInfo().Cluster.Leader, "n"))
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// All nodes are killed, and started again: what lies in files is there. With CUSTOS_TOWN=1 there are
// three, which takes 20 seconds.
func allAreKilled(t *testing.T, program string) {
	t.Parallel()
	nodes := 1
	if os.Getenv("CUSTOS_TOWN") != "" {
		nodes = 3
	}
	f := hubtest.Run(t, program, nodes)
	a := hubtest.Connect(t, f.Join(t, "a"), wire.Options{})
	write(t, a, protocol.Leases, "x", "1")
	write(t, a, protocol.Claims, "x", "a")
	write(t, a, protocol.Fleet, "a.agents", "one")
	for i := range f.Nodes {
		f.Kill(i)
	}
	for i := range f.Nodes {
		f.Restart(i)
	}
	f.WaitReady(0)
	read(t, a, protocol.Leases, "x", "1")
	read(t, a, protocol.Claims, "x", "a")
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
	for _, n := range nodes {
		if s == syscall.SIGSTOP { // until one of its threads is run and takes the signal, the others go on
			hubtest.Eventually(t, 10*time.Second, "a node stops", func() bool { return isStopped(f.Nodes[n].Pid) })
		}
	}
}

// isStopped says whether a process is stopped by a signal (proc_pid_stat(5)).
func isStopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, is := strings.Cut(string(text), ") ")
	return err == nil && is && strings.HasPrefix(rest, "T")
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
