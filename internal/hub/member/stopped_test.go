package member

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/hub/hubtest"
	"custos/internal/store"
	"custos/internal/sys/httpcache"
	"custos/internal/sys/httpjson"
)

// TestMain is also the host of the test below, which is stopped, and the other host of TestWhatAHostCosts.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CUSTOS_TEST_HOLDER"); dir != "" {
		if err := holdMuch(dir); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("CUSTOS_TEST_HOST"); dir != "" {
		if err := isHost(dir, os.Getenv("CUSTOS_TEST_SERVER")); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writes is an action that waits for a line of its input in its middle, and then writes to a server.
type writes struct {
	url string
	in  *bufio.Reader
}

func (w writes) Ability() fleet.Ability {
	return fleet.Ability{Do: "write", Shared: fleet.SharedForge, Deadline: fleet.Duration(time.Hour)}
}
func (w writes) Commands(fleet.Action) []fleet.Command                  { return nil }
func (w writes) Prepare(context.Context, fleet.Action) (act.Run, error) { return w, nil }
func (w writes) Verify(context.Context) (string, error)                 { return "written", nil }
func (w writes) Close()                                                 {}
func (w writes) Do(ctx context.Context) error {
	fmt.Println("in the middle")
	if _, err := w.in.ReadString('\n'); err != nil {
		return err
	}
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: w.url})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/comment", strings.NewReader("x"))
	if err != nil {
		return err
	}
	resp, err := httpcache.NewTransport(host, "", nil).Client().Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// isHost takes part in a hub, acts once by a lease, and says what became of it.
func isHost(dir, url string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "custos.db"), StartedAt: now(), Now: time.Now})
	if err != nil {
		return err
	}
	defer st.Close()
	m, err := Open(Options{Place: Place{Joined: filepath.Join(dir, "hub"), Hosts: filepath.Join(dir, "hub", "hosts.json")}, Now: now, Epochs: st.Epochs,
		Learn:   func(ctx context.Context, key string, e uint64) error { return st.SawEpoch(ctx, key, e, now()) },
		Changed: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	go func() { _ = m.Run(ctx) }()
	ended := make(chan fleet.Result, 1)
	actor := act.New(act.Options{Actions: []act.Action{writes{url, bufio.NewReader(os.Stdin)}}, Ledger: st, Now: now, Lease: m.Lapsed, Fenced: httpjson.Fenced,
		Done: func(r fleet.Result) { ended <- r }})
	for !mine(m, "forge/x") || !leaseAt(m, "forge/x").Enough() {
		m.Want("forge/x")
		time.Sleep(50 * time.Millisecond)
	}
	subject := fleet.Subject{Kind: fleet.KindIssue, Name: "x#1"}
	a := fleet.Action{ID: "a1", Do: "write", Subject: subject, For: fleet.AlertKey{Rule: "r", Subject: subject}, Fence: &fleet.Fence{Key: "forge/x", Epoch: leaseAt(m, "forge/x").Epoch}}
	if err := actor.Start(ctx, fleet.Turn{At: now(), Plan: fleet.Plan{At: now(), Actions: []fleet.Action{a}}}); err != nil {
		return err
	}
	r := <-ended
	list, err := st.Actions(ctx, store.ActionFilter{ID: "a1"})
	if err != nil || len(list) != 1 || list[0].Result == nil {
		return fmt.Errorf("it is not written down: %v, %v", list, err)
	}
	fmt.Printf("epoch %d: %s: %s\n", a.Fence.Epoch, r.Status, list[0].Result.Why)
	return nil
}

// TestAHolderThatIsStoppedInTheMiddle: a process that acts by a lease is stopped by a signal in the middle of it,
// another host takes over, and the first one goes on: its write is refused by the epoch, and that is written down. It is
// stopped for as long as the other one needs; CUSTOS_STOPPED_FOR is for how long at least.
func TestAHolderThatIsStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	var wrote atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { wrote.Add(1) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	if err := hub.Join(t, "box1").Save(filepath.Join(dir, "hub")); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), "CUSTOS_TEST_HOST="+dir, "CUSTOS_TEST_SERVER="+server.URL), os.Stderr
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
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "in the middle" {
		t.Fatalf("it says %q", said.Text())
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	b, _ := host(t, hub.Join(t, "box2"), nil)
	hubtest.Eventually(t, 2*time.Minute, "box2 takes over", func() bool { b.Want("forge/x"); return mine(b, "forge/x") })
	t.Logf("box2 took over %s after box1 was stopped", time.Since(stopped).Round(time.Second))
	if d, err := time.ParseDuration(os.Getenv("CUSTOS_STOPPED_FOR")); err == nil {
		time.Sleep(time.Until(stopped.Add(d)))
	}
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, "go on"); err != nil {
		t.Fatal(err)
	}
	if !said.Scan() || !strings.Contains(said.Text(), ": refused: other hosts share it") {
		t.Errorf("it says %q", said.Text())
	}
	t.Log(said.Text())
	if n := wrote.Load(); n != 0 {
		t.Errorf("%d writes of a host that holds nothing", n)
	}
}
