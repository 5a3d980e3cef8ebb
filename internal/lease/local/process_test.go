package local

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/lease"
	"custos/internal/lease/leasetest"
)

// holderFile is the variable that makes the test binary hold a lease in a file.
const holderFile = "CUSTOS_LEASE_HOLDER_FILE"

// TestAHolder is no test of its own: it is the process that holds a lease in the next one.
func TestAHolder(t *testing.T) {
	path := os.Getenv(holderFile)
	if path == "" {
		t.Skip("it is for another test")
	}
	s := opened(t, path, "holder "+strconv.Itoa(os.Getpid()), testTTL, clock(t))
	l, err := s.Acquire(t.Context(), "k", 0)
	for tick := time.NewTicker(20 * time.Millisecond); err == nil; <-tick.C {
		fmt.Printf("until %d %d\n", l.Until.Up, l.Epoch)
		l, err = s.Renew(t.Context(), l)
	}
	if errors.Is(err, lease.ErrHeld) {
		fmt.Println("held")
		return
	}
	t.Fatal(err)
}

// process is one that holds a lease.
type process struct {
	*exec.Cmd
	said *bufio.Scanner
}

func startHolder(t testing.TB, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAHolder$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), holderFile+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd, bufio.NewScanner(out)}
}

// next is the next line of a process that tells of its lease.
func (p *process) next(t testing.TB) string {
	t.Helper()
	for p.said.Scan() {
		if line := p.said.Text(); line == "held" || strings.HasPrefix(line, "until ") {
			return line
		}
	}
	t.Fatalf("the process has ended: %v", p.said.Err())
	return ""
}

// TestProcesses: of several processes, one holds a key; it is killed while it renews, and another
// one gets it when the time that the killed one relied on is over, and not before.
func TestProcesses(t *testing.T) {
	t.Parallel()
	leasetest.Try(t, testTTL/8, processes)
}

func processes(t *leasetest.Attempt) {
	path := filepath.Join(t.TempDir(), "leases")
	holder := startHolder(t, path)
	for range 5 { // it was renewed
		holder.next(t)
	}
	if said := startHolder(t, path).next(t); said != "held" {
		t.Errorf("a second process says %q", said)
	}
	s := opened(t, path, "waiter", testTTL, clock(t))
	was, err := s.Acquire(t.Context(), "k", 0)
	if !errors.Is(err, lease.ErrHeld) || was.Holder.Host != "holder "+strconv.Itoa(holder.Process.Pid) {
		t.Fatalf("while a process holds it: %+v, %v", was, err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	next, last := waitFor(t, s)
	switch late := s.o.Clock().Since(last.Until); {
	case late < 0:
		t.Unsafe("it was taken %v before the end of the killed one's", -late)
	case late > time.Second:
		t.Errorf("it was taken %v after the end of the killed one's", late)
	}
	if next.Epoch <= last.Epoch {
		t.Unsafe("the epoch %d comes after %d", next.Epoch, last.Epoch)
	}
}

// waitFor takes the key as soon as it is free, and returns also whose it was until then.
func waitFor(t testing.TB, s *Store) (next, last lease.Lease) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(testTTL + 5*time.Second); time.Now().Before(end); <-tick.C {
		l, err := s.Acquire(t.Context(), "k", 0)
		if err == nil {
			return l, last
		}
		if !errors.Is(err, lease.ErrHeld) {
			t.Fatal(err)
		}
		last = l
	}
	t.Fatal("it does not become free")
	return
}
