package looks

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"custos/internal/api"
	"custos/internal/hub/rows"
)

// TestMain is the process of many hosts, too, for what is measured.
func TestMain(m *testing.M) {
	if os.Getenv("CUSTOS_TEST_FLEET") != "" {
		os.Exit(hostsTell())
	}
	os.Exit(m.Run())
}

// hostAgents is how many agents a host has.
const hostAgents = 100

// TestTwentyHosts measures a small fleet, always.
func TestTwentyHosts(t *testing.T) { measure(t, 20, 500*time.Millisecond) }

// TestManyHosts measures 1, 10, 100, … hosts, up to CUSTOS_HOSTS of them, and holds what is promised of 1 000: who looks sees
// all of them within 5 s, and 1 % of the agents changed a second take one core and 1 GB of hub and viewer together.
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
	cold    time.Duration // until who begins to look sees everything
	cores   float64       // of hub and viewer, while agents change
	memory  int64         // bytes of hub and viewer that are resident
	changed float64       // messages a second
}

// measure has hosts of another process tell of their agents, and who looks at all of them in this one, as the hub is.
func measure(t *testing.T, hosts int, during time.Duration) (f figures) {
	url := newHub(t)
	js := connect(t, url)
	if _, err := js.CreateKeyValue(t.Context(), rows.Config(1)); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	change := startFleet(t, url, hosts)
	awaitRows(t, js, hosts*(hostAgents+2)) // the row of the host itself, and its head
	t.Logf("%d hosts began and told everything within %s", hosts, time.Since(begun).Round(time.Millisecond))
	v := newViewer(t, js, hosts)
	begun = time.Now()
	v.sees(t)
	f.cold = time.Since(begun)
	change()
	before, seqBefore, at := cpu(t), lastSeq(t, js), time.Now()
	for stop, again := time.After(during), time.NewTicker(3*time.Second); ; { // a screen asks so often (remote.Watch)
		select {
		case <-again.C:
			v.look()
			continue
		case <-stop:
		}
		again.Stop()
		break
	}
	took := time.Since(at)
	f.cores = (cpu(t) - before).Seconds() / took.Seconds()
	f.changed = float64(lastSeq(t, js)-seqBefore) / took.Seconds()
	f.memory = resident(t)
	t.Logf("%d hosts of %d agents: all seen after %s; then %.0f messages a second, %.2f cores, %d MiB of hub and viewer", hosts, hostAgents, f.cold.Round(time.Millisecond), f.changed, f.cores, f.memory>>20)
	return f
}

// viewer looks at hosts as a member does for who looks.
type viewer struct {
	board *rows.Board
	read  *Reader
	names []string
	known map[string]api.HostLook
	since int64
}

func newViewer(t *testing.T, js jetstream.JetStream, hosts int) *viewer {
	begun := time.Now()
	b, err := rows.NewBoard(js, rows.BoardOptions{Now: func() time.Duration { return time.Since(begun) }})
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{board: b, read: NewReader(1), known: map[string]api.HostLook{}}
	for i := range hosts {
		v.names = append(v.names, fmt.Sprintf("host%04d", i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); b.Watch(ctx, rows.Everything) }()
	t.Cleanup(func() { cancel(); <-ended })
	return v
}

// look takes over what is newer, and says of how many hosts all is known.
func (v *viewer) look() (whole int) {
	s := v.board.Snapshot()
	if !s.Whole {
		return 0
	}
	told := v.read.Looks(v.names, s, time.Now(), v.since)
	v.since = told.Number
	for _, h := range told.Hosts {
		if h.Same {
			h.Look = v.known[h.Name].Look
		}
		v.known[h.Name] = h
		if agents := h.Agents(time.Now()); h.Status == "ok" && len(agents) == hostAgents {
			whole++
		}
	}
	return whole
}

func (v *viewer) sees(t *testing.T) {
	t.Helper()
	for begun := time.Now(); v.look() < len(v.names); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("not all is seen")
		}
	}
}

func newHub(t *testing.T) (url string) {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the hub did not begin")
	}
	return s.ClientURL()
}

func connect(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// startFleet starts the process of the hosts; change has them change 1 % of their rows a second.
func startFleet(t *testing.T, url string, hosts int) (change func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CUSTOS_TEST_FLEET="+url, "CUSTOS_TEST_COUNT="+strconv.Itoa(hosts))
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

// teller is one host of the process of hosts.
type teller struct {
	Teller
	told Told
	to   *rows.Publisher
}

func (h *teller) tell() error {
	all, err := h.Rows(h.told, time.Now())
	h.to.Set(all)
	return err
}

// hostsTell is the process of the hosts. It ends with its input.
func hostsTell() int {
	count, _ := strconv.Atoi(os.Getenv("CUSTOS_TEST_COUNT"))
	var all []*teller
	for i := range count {
		h, err := newTeller(fmt.Sprintf("host%04d", i))
		if err == nil {
			err = h.tell()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		all = append(all, h)
	}
	go func() {
		b := make([]byte, 1)
		_, _ = os.Stdin.Read(b)
		go changes(all)
		_, _ = os.Stdin.Read(b)
		os.Exit(0)
	}()
	select {}
}

func newTeller(name string) (*teller, error) {
	nc, err := nats.Connect(os.Getenv("CUSTOS_TEST_FLEET"))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	p, err := rows.NewPublisher(js, rows.PublisherOptions{Host: name, Run: rand.Text()})
	if err != nil {
		return nil, err
	}
	go p.Run(context.Background())
	return &teller{told: Told{Look: api.FirstLook{Mode: "auto", Agents: someAgents()}}, to: p}, nil
}

func someAgents() (out []api.AgentRow) {
	for i := range hostAgents {
		out = append(out, api.AgentRow{Name: fmt.Sprint("agent", i), Kind: "claude", State: "working", Since: "3m0s", Reason: "a tool of it runs since 12s: go test ./...", Source: "hooks", Owner: "custos",
			Instance: rand.Text(), PID: 4711 + i, CWD: "/home/ann/work/shop", Registered: true, Role: "polecat", Project: "shop", Task: fmt.Sprint("shop#", i), Desired: "running"})
	}
	return out
}

// changes changes one of a hundred agents of each host a second.
func changes(all []*teller) {
	next := time.Now()
	for n := 0; ; n++ {
		for _, h := range all {
			h.told.Look.Agents[n%hostAgents].State = []string{"working", "idle"}[n/hostAgents%2]
			h.told.Look.Agents[n%hostAgents].Project = rand.Text()
			if err := h.tell(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			next = next.Add(time.Second / time.Duration(len(all)))
			time.Sleep(time.Until(next))
		}
	}
}

func awaitRows(t *testing.T, js jetstream.JetStream, want int) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		s, err := js.Stream(context.Background(), "KV_"+rows.Bucket)
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
	s, err := js.Stream(context.Background(), "KV_"+rows.Bucket)
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
