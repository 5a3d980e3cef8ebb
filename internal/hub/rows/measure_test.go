package rows

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Of each host: rows of so many bytes.
const (
	hostRows = 100
	rowBytes = 300
)

// TestTwentyHosts measures a small fleet, always.
func TestTwentyHosts(t *testing.T) { measure(t, 20, 500*time.Millisecond) }

// TestManyHosts measures 1, 10, 100, … hosts, up to CUSTOS_HOSTS of them, and holds what is promised of 1 000: a board has
// all of them within 5 s, and 1 % of rows changed a second take one core and 1 GB of hub and board together.
func TestManyHosts(t *testing.T) {
	most, _ := strconv.Atoi(os.Getenv("CUSTOS_HOSTS"))
	if most == 0 {
		t.Skip("CUSTOS_HOSTS says how many hosts are measured, as 1000: a minute")
	}
	least, _ := strconv.Atoi(cmp.Or(os.Getenv("CUSTOS_HOSTS_FROM"), "1"))
	for n := least; n <= most; n *= 10 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := measure(t, n, 10*time.Second)
			if f.cold > 5*time.Second || f.cores > 1 || f.memory > 1<<30 {
				t.Errorf("that is more than was promised")
			}
		})
	}
}

type figures struct {
	cold    time.Duration // until a board that begins has everything
	cores   float64       // of hub and board, while rows change
	memory  int64         // bytes of hub and board that are resident
	changed float64       // rows a second that came to the board
}

// measure has hosts of another process tell, and a board of this one watch, as the hub does.
func measure(t *testing.T, hosts int, during time.Duration) (f figures) {
	h := newHub(t)
	js := h.js(t)
	bucket(t, js)
	begun := time.Now()
	change := startFleet(t, h, hosts)
	awaitRows(t, js, hosts*(hostRows+1))
	t.Logf("%d hosts began and told everything within %s", hosts, time.Since(begun).Round(time.Millisecond))
	begun = time.Now()
	b := watch(t, js, Everything)
	await(t, "all rows", func() bool {
		s := b.Snapshot()
		return s.Whole && len(s.Hosts) == hosts
	})
	f.cold = time.Since(begun)
	for _, host := range b.Snapshot().Hosts {
		if len(host.Rows) != hostRows || host.Silent {
			t.Fatalf("host %s has %d rows, silent %v, %s old", host.Name, len(host.Rows), host.Silent, host.Age)
		}
	}
	change()
	await(t, "changes", func() bool { return b.told.Load() > 1 })
	before, seqBefore, at := cpu(t), lastSeq(t, js), time.Now()
	for stop := time.After(during); ; {
		select {
		case <-time.After(500 * time.Millisecond): // who looks at a page looks so often
			b.Snapshot()
			continue
		case <-stop:
		}
		break
	}
	took := time.Since(at)
	f.cores = (cpu(t) - before).Seconds() / took.Seconds()
	f.changed = float64(lastSeq(t, js)-seqBefore) / took.Seconds()
	f.memory = resident(t)
	t.Logf("%d hosts of %d rows: all there after %s; then %.0f messages a second, %.2f cores, %d MiB of hub and board", hosts, hostRows, f.cold.Round(time.Millisecond), f.changed, f.cores, f.memory>>20)
	return f
}

// startFleet starts the process of the hosts; change has them change 1 % of their rows a second.
func startFleet(t *testing.T, h *hub, hosts int) (change func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CUSTOS_TEST_FLEET="+h.ClientURL(), "CUSTOS_TEST_COUNT="+strconv.Itoa(hosts))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return func() {
		if _, err := in.Write([]byte("c")); err != nil {
			t.Error(err)
		}
	}
}

// fleet is the process of the hosts. It ends with its input.
func fleet() int {
	count, _ := strconv.Atoi(os.Getenv("CUSTOS_TEST_COUNT"))
	var all []*Publisher
	var rows []map[string][]byte
	for i := range count {
		nc, err := nats.Connect(os.Getenv("CUSTOS_TEST_FLEET"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		js, _ := jetstream.New(nc)
		p, err := NewPublisher(js, PublisherOptions{Host: fmt.Sprint("host", i), Run: rand.Text()})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		all, rows = append(all, p), append(rows, someRows())
		go p.Run(context.Background())
		p.Set(rows[i])
	}
	go func() {
		b := make([]byte, 1)
		_, _ = os.Stdin.Read(b)
		go changes(all, rows)
		_, _ = os.Stdin.Read(b)
		os.Exit(0)
	}()
	select {}
}

func someRows() map[string][]byte {
	out := map[string][]byte{}
	for i := range hostRows {
		out[fmt.Sprint("agent.a", i)] = aRow()
	}
	return out
}

func aRow() []byte {
	return []byte(strings.Repeat(rand.Text(), rowBytes/26+1)[:rowBytes])
}

// changes changes one of a hundred rows of each host a second.
func changes(all []*Publisher, rows []map[string][]byte) {
	next := time.Now()
	for n := 0; ; n++ {
		for i, p := range all {
			rows[i] = maps.Clone(rows[i])
			rows[i][fmt.Sprint("agent.a", n%hostRows)] = aRow()
			p.Set(rows[i])
			next = next.Add(time.Second / time.Duration(len(all)))
			pause(context.Background(), nil, time.Until(next))
		}
	}
}

func awaitRows(t *testing.T, js jetstream.JetStream, want int) {
	t.Helper()
	for begun := time.Now(); ; pause(context.Background(), nil, 50*time.Millisecond) {
		s, err := js.Stream(context.Background(), stream)
		if err == nil && s.CachedInfo().State.Msgs >= uint64(want) {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d rows have not come: %v, %v", want, s, err)
		}
	}
}

func lastSeq(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	s, err := js.Stream(context.Background(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

// cpu is what this process has used.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is how much memory this process has.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
