package member

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"custos/internal/hub/hubtest"
)

// heldByOthers is how many leases another host holds while it is measured what a host costs.
const heldByOthers = 200

// holdMuch is a host that looks after all hosts, and holds many leases, until its input ends.
func holdMuch(dir string) error {
	l := &ledger{}
	m, err := Open(Options{Place: Place{Joined: dir, Hosts: filepath.Join(dir, "hosts.json")}, Now: now, Epochs: l.known, Learn: l.learn, Changed: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = m.Run(ctx) }()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	for told := false; ctx.Err() == nil; {
		held := 0
		for i := range heldByOthers {
			key := fmt.Sprint("forge/", i)
			if m.Want(key); mine(m, key) {
				held++
			}
		}
		if held == heldByOthers && mine(m, keyWatch) && !told {
			fmt.Println("holds them")
			told = true
		}
		rest(ctx, 2*time.Second)
	}
	return nil
}

// TestWhatAHostCosts measures what taking part costs a host beside one that holds many leases: at rest; where it holds
// a lease, and wants one that the other holds; and where it looks after all hosts:
// CUSTOS_COST is for how long, as 1m.
func TestWhatAHostCosts(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("CUSTOS_COST"))
	if err != nil {
		t.Skip("CUSTOS_COST says for how long it is measured what a host costs, as 1m")
	}
	wakes(t)
	hub := hubtest.Processes(t, 1)
	dir := filepath.Join(t.TempDir(), "hub")
	if err := hub.Join(t, "box2").Save(dir); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), "CUSTOS_TEST_HOLDER="+dir), os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	if said := bufio.NewScanner(out); !said.Scan() || said.Text() != "holds them" {
		t.Fatalf("it says %q", said.Text())
	}
	m, _ := host(t, hub.Join(t, "box1"), echo)
	measure := func(what string, keys ...string) {
		t.Helper()
		want := func() { m.Want(keys...) }
		eventually(t, "it takes part", func() bool { want(); return len(keys) == 0 && holder(m, keyWatch) != "" || mine(m, "own") })
		for range 3 {
			rest(t.Context(), 2*time.Second)
			want()
		}
		before, stats, began := used(t), m.link.nc.Stats(), time.Now()
		for time.Since(began) < d {
			want() // as each pass does
			rest(t.Context(), 15*time.Second)
		}
		after, now := used(t), m.link.nc.Stats()
		s := time.Since(began).Seconds()
		t.Logf("%s: %.3f %% of a core, %.0f B/s out in %.1f messages, %.0f B/s in in %.1f messages", what, 100*(after-before).Seconds()/s,
			float64(now.OutBytes-stats.OutBytes)/s, float64(now.OutMsgs-stats.OutMsgs)/s, float64(now.InBytes-stats.InBytes)/s, float64(now.InMsgs-stats.InMsgs)/s)
	}
	measure("at rest")
	measure("one that holds a lease, and wants one that another holds", "forge/1", "own")
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it looks after all", func() bool { return mine(m, keyWatch) })
	measure("the one that looks after all, and holds two", "forge/1", "own")
}

// wakes measures what it costs on this machine that a timer wakes a goroutine which does nothing: no process of Go
// that does something ten times in a second can cost less than ten of it.
func wakes(t *testing.T) {
	const times = 200
	before := used(t)
	for range times {
		rest(t.Context(), 50*time.Millisecond)
	}
	t.Logf("a timer that wakes a goroutine costs %s here", ((used(t) - before) / times).Round(time.Microsecond))
}

func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
