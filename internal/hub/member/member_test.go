package member

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/credential"
	"custos/internal/hub/hubtest"
	"custos/internal/hub/looks"
	"custos/internal/hub/protocol"
)

// now is a moment by the clocks of this machine.
func now() fleet.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err)
	}
	return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(ts.Nano()), Boot: "this"}
}

// ledger is where epochs are written down.
type ledger struct {
	mu     sync.Mutex
	epochs map[string]uint64
}

func (l *ledger) learn(_ context.Context, key string, epoch uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epochs == nil {
		l.epochs = map[string]uint64{}
	}
	l.epochs[key] = max(l.epochs[key], epoch)
	return nil
}

func (l *ledger) known(context.Context) (map[string]uint64, error) { return nil, nil }

// host has a host take part until the test ends, or until what it returns is called.
func host(t *testing.T, j credential.Joined, answer func(string) http.Handler) (*Member, func()) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "hub")
	if err := j.Save(dir); err != nil {
		t.Fatal(err)
	}
	l := &ledger{}
	m, err := Open(Options{Place: Place{Joined: dir, Hosts: filepath.Join(dir, "hosts.json")}, Version: "v1", Now: now, Epochs: l.known, Learn: l.learn,
		Changed: func(string) {}, Answer: answer, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m, goes(t, m)
}

func goes(t *testing.T, m *Member) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	end := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	hubtest.Eventually(t, 30*time.Second, what, is)
}

// echo says who asks and what.
func echo(from string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]string{"from": from, "path": r.URL.Path, "behalf": r.Header.Get(api.OnBehalf), "body": string(body)})
	})
}

func asks(t *testing.T, m *Member, to, behalf string) (map[string]string, error) {
	t.Helper()
	way, err := m.To(to)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/v1/orders", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if behalf != "" {
		req.Header.Set(api.OnBehalf, behalf)
	}
	resp, err := way.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := map[string]string{}
	return out, json.NewDecoder(resp.Body).Decode(&out)
}

// TestTwoHosts: they know each other, ask each other, share leases, and one looks after the other; what is known
// is unknown where the hub is gone, and there again when it is back.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	a, _ := host(t, hub.Join(t, "box1"), echo)
	b, endB := host(t, hub.Join(t, "box2"), echo)
	eventually(t, "each knows the other", func() bool {
		return strings.Join(a.Names(), " ") == "box2" && strings.Join(b.Names(), " ") == "box1"
	})
	var got map[string]string
	eventually(t, "box1 asks box2", func() (is bool) {
		var err error
		got, err = asks(t, a, "box2", "builder")
		return err == nil
	})
	if got["from"] != "box1" || got["path"] != "/v1/orders" || got["behalf"] != "builder" || got["body"] != "hello" {
		t.Errorf("box2 was asked %v", got)
	}
	if _, err := asks(t, a, "box9", ""); api.ErrorOf(err).Kind != api.NotFound {
		t.Errorf("a host that there is not: %v", err)
	}
	a.Want("forge/x")
	eventually(t, "box1 holds it", func() bool { return mine(a, "forge/x") })
	b.Want("forge/x")
	eventually(t, "box2 knows that", func() bool { return holder(b, "forge/x") == "box1" })
	if mine(b, "forge/x") {
		t.Error("both hold it")
	}
	epoch := a.Seen(now()).Value.Leases[0].Epoch
	for f, why := range map[fleet.Fence]string{{Key: "forge/x", Epoch: epoch}: "", {Key: "forge/x", Epoch: epoch + 1}: "is of", {Key: "forge/y", Epoch: epoch}: "has ended"} {
		if got := a.Lapsed(f, true); (got == "") != (why == "") || !strings.Contains(got, why) {
			t.Errorf("%+v at box1: %q", f, got)
		}
	}
	if got := b.Lapsed(fleet.Fence{Key: "forge/x", Epoch: epoch}, false); !strings.Contains(got, "box1 holds it") {
		t.Errorf("at box2: %q", got)
	}
	watcher, watched := a, "box2"
	eventually(t, "one looks after the other", func() bool {
		if mine(b, keyWatch) {
			watcher, watched = b, "box1"
		}
		return tells(watcher, watched)
	})
	hub.Stop(0)
	eventually(t, "the hub is missed", func() bool { return a.Seen(now()).Status == fleet.StatusUnknown })
	if _, err := asks(t, a, "box2", ""); !api.IsUnreachable(err) {
		t.Errorf("without a hub: %v", err)
	}
	hub.Restart(0)
	eventually(t, "it is back", func() bool {
		_, err := asks(t, a, "box2", "")
		return err == nil && a.Seen(now()).Status == fleet.StatusOK
	})
	endB()
	if _, err := asks(t, a, "box2", ""); !api.IsUnreachable(err) {
		t.Errorf("a host that has left: %v", err)
	}
}

// lease is how a host stands with a key.
func leaseAt(m *Member, key string) fleet.Lease {
	for _, l := range m.Seen(now()).Value.Leases {
		if l.Key == key {
			return l
		}
	}
	return fleet.Lease{}
}

func mine(m *Member, key string) bool     { return leaseAt(m, key).Mine }
func holder(m *Member, key string) string { return leaseAt(m, key).Holder }

// tells says whether a host hears that another one is there.
func tells(m *Member, name string) bool {
	for _, p := range m.Seen(now()).Value.Peers {
		if d, known := p.Silent.Get(); p.Name == name && known && d == 0 {
			return true
		}
	}
	return false
}

// TestARevokedHost: it neither asks nor is asked, and holds nothing any more; what it has signed counts nowhere.
func TestARevokedHost(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	a, _ := host(t, hub.Join(t, "box1"), echo)
	gone := hub.Join(t, "box2")
	b, _ := host(t, gone, echo)
	eventually(t, "box2 asks box1", func() bool { _, err := asks(t, b, "box1", ""); return err == nil })
	b.Want("forge/x")
	eventually(t, "box2 holds a lease", func() bool { return mine(b, "forge/x") })
	hub.Revoke(t, "box2")
	eventually(t, "box2 is shut out, and says why", func() bool {
		seen := b.Seen(now())
		return seen.Status == fleet.StatusUnknown && strings.Contains(seen.Why, "its key was revoked there")
	})
	if _, err := asks(t, b, "box1", ""); err == nil {
		t.Error("a revoked host asks")
	}
	eventually(t, "box1 forgets it", func() bool { return len(a.Names()) == 0 })
	_, k, _ := a.now()
	old, err := newSeal(gone, nil)
	if err != nil {
		t.Fatal(err)
	}
	subject := protocol.AskSubject("box1", "box2")
	header, err := old.sign(subject, []byte("order"))
	if err != nil {
		t.Fatal(err)
	}
	if from, err := k.seal.who(subject, header, []byte("order")); !errors.Is(err, credential.ErrRevoked) {
		t.Errorf("what it signed counts: %q, %v", from, err)
	}
}

// TestANodeThatIsBehind: who is told of hosts by a node that does not know this one yet asks the hub itself, before it
// says that it is not known there any more.
func TestANodeThatIsBehind(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	a, _ := host(t, hub.Join(t, "box1"), nil)
	hub.Join(t, "box2")
	eventually(t, "it knows the other one", func() bool { return len(a.Names()) == 1 })
	_, k, _ := a.now()
	if err := k.hear(t.Context(), map[string]protocol.Host{}); err == nil || !strings.Contains(err.Error(), "is behind") {
		t.Errorf("it believes that: %v", err)
	}
	if seen := a.Seen(now()); !seen.Usable() || len(a.Names()) != 1 {
		t.Errorf("%+v, and knows %q", seen.Sight, a.Names())
	}
	hub.Revoke(t, "box2")
	eventually(t, "it forgets the other one", func() bool { return len(a.Names()) == 0 })
}

// TestSeals: what is signed counts once, for its subject and its message, and from nobody but who signed.
func TestSeals(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	j1, j2 := hub.Join(t, "box1"), hub.Join(t, "box2")
	by, err := newSeal(j1, nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := newSeal(j2, nil)
	if err != nil {
		t.Fatal(err)
	}
	subject := protocol.AskSubject("box2", "box1")
	h, err := by.sign(subject, []byte("stop x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.who(protocol.AskSubject("box3", "box1"), h, []byte("stop x")); err == nil {
		t.Error("it counts for another subject")
	}
	if _, err := at.who(subject, h, []byte("stop y")); err == nil {
		t.Error("it counts for another message")
	}
	if from, err := at.who(subject, h, []byte("stop x")); err != nil || from != "box1" {
		t.Errorf("%q, %v", from, err)
	}
	if _, err := at.who(subject, h, []byte("stop x")); !errors.Is(err, credential.ErrReplayed) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := at.who(subject, nil, []byte("stop x")); err == nil {
		t.Error("nothing counts as signed")
	}
}

// TestAHubThatLostItsStore: it does not know its hosts any more, and each says so, acts on nothing that is shared, and
// keeps no lease from those that have joined anew.
func TestAHubThatLostItsStore(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	m, _ := host(t, hub.Join(t, "box1"), nil)
	hub.Join(t, "box2")
	eventually(t, "it is well", func() bool { return m.Seen(now()).Status == fleet.StatusOK && len(m.Names()) == 1 })
	hub.Stop(0)
	if err := os.RemoveAll(filepath.Join(hub.Dirs[0], "store")); err != nil {
		t.Fatal(err)
	}
	hub.Restart(0)
	eventually(t, "it says so", func() bool {
		seen := m.Seen(now())
		return seen.Status == fleet.StatusUnknown && strings.Contains(seen.Why, "does not know this host")
	})
	if shown := m.Looks(t.Context(), 0).Hosts; len(shown) != 1 || shown[0].Name != "box2" || shown[0].Status != "unknown" {
		t.Errorf("the other host is gone, and not unknown: %+v", shown)
	}
	_, k, _ := m.now()
	eventually(t, "it gives back what it holds", func() bool { return !holds(k.standings(), "") })
	m.Want("forge/x")
	m.Claim("slot/x")
	for _, l := range k.standings() {
		if l.Mine || l.Key == "forge/x" {
			t.Errorf("it wants a lease: %+v", l)
		}
	}
	if c := m.claimed(); len(c) > 0 {
		t.Errorf("it claims %+v", c)
	}
}

// TestAMachineThatWasCloned: two daemons with one key are two holders of leases, and whichever looks after all tells that there are two.
func TestAMachineThatWasCloned(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	j := hub.Join(t, "box1")
	a, _ := host(t, j, nil)
	b, _ := host(t, j, nil)
	eventually(t, "one looks after all", func() bool { return mine(a, keyWatch) || mine(b, keyWatch) })
	eventually(t, "it tells that there are two", func() bool {
		if mine(a, keyWatch) && mine(b, keyWatch) {
			t.Fatal("both hold one lease")
		}
		return slices.ContainsFunc(append(a.Seen(now()).Value.Peers, b.Seen(now()).Value.Peers...), func(p fleet.Peer) bool { return p.Name == "box1" && p.Doubled })
	})
	eventually(t, "each knows it", func() bool { return a.Doubled() && b.Doubled() })
}

// TestWithoutAHub: a host that has joined none, and names no file, shares nothing and makes nothing.
func TestWithoutAHub(t *testing.T) {
	dir := t.TempDir()
	m, err := Open(Options{Place: Place{Joined: filepath.Join(dir, "hub")}})
	if m != nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) != 0 {
		t.Errorf("it made %v", list)
	}
}

// TestAFileOfLeases: two Custos of one machine share leases without any server.
func TestAFileOfLeases(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "leases")
	open := func(name string) *Member {
		l := &ledger{}
		m, err := Open(Options{Place: Place{Joined: filepath.Join(t.TempDir(), "hub"), File: file, Host: name}, Now: now, Epochs: l.known, Learn: l.learn, Changed: func(string) {}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, b := open("a"), open("b")
	endA := goes(t, a)
	goes(t, b)
	eventually(t, "a holds it", func() bool { a.Want("k"); return mine(a, "k") })
	eventually(t, "b knows that", func() bool { b.Want("k"); return holder(b, "k") == "a" })
	endA()
	eventually(t, "b holds it", func() bool { b.Want("k"); return mine(b, "k") })
}

// TestWhatWasJoinedCannotBeRead: nothing is known of the hub then, and it is said why; nothing else of the
// host waits for that, and it takes part as soon as it can.
func TestWhatWasJoinedCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub")
	if err := hubtest.Start(t, 1).Join(t, "box1").Save(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hub.json")
	whole, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{}
	open := func() *Member {
		m, err := Open(Options{Place: Place{Joined: dir, Hosts: filepath.Join(dir, "hosts.json")}, Now: now, Epochs: l.known, Learn: l.learn, Changed: func(string) {}, Log: slog.New(slog.DiscardHandler)})
		if err != nil || m == nil {
			t.Fatalf("%v, %v", m, err)
		}
		return m
	}
	m := open()
	if seen := m.Seen(now()); seen.Usable() || !strings.Contains(seen.Why, file) {
		t.Errorf("%+v", seen)
	}
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("it runs, or says %v", err)
	}
	creds := filepath.Join(dir, "hub.creds")
	if err := errors.Join(os.WriteFile(file, whole, 0o600), os.Chmod(creds, 0o644)); err != nil {
		t.Fatal(err)
	}
	if seen := open().Seen(now()); seen.Usable() || !strings.Contains(seen.Why, "chmod 600 "+creds) {
		t.Errorf("of credentials that are open: %+v", seen)
	}
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod 600 "+creds) {
		t.Errorf("it runs with credentials that are open, or says %v", err)
	}
	if err := os.Chmod(creds, 0o600); err != nil {
		t.Fatal(err)
	}
	goes(t, m)
	eventually(t, "it holds a lease", func() bool { m.Want("k"); return mine(m, "k") })
}

// TestWhatAHostShows: what one host shows of itself another one shows too, without asking for it; when the host
// is silent all that it has is unknown.
func TestWhatAHostShows(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	a, _ := host(t, hub.Join(t, "box1"), nil)
	dir := filepath.Join(t.TempDir(), "hub")
	if err := hub.Join(t, "box2").Save(dir); err != nil {
		t.Fatal(err)
	}
	var state atomic.Pointer[string]
	working, blind := "working", ""
	state.Store(&working)
	l := &ledger{}
	b, err := Open(Options{Place: Place{Joined: dir, Hosts: filepath.Join(dir, "hosts.json")}, Now: now, Epochs: l.known, Learn: l.learn, Changed: func(string) {}, Log: slog.New(slog.DiscardHandler),
		Tell: func(context.Context) (looks.Told, error) {
			if *state.Load() == blind {
				return looks.Told{}, errors.New("tmux hangs")
			}
			if *state.Load() == "gone" {
				return looks.Told{}, nil
			}
			return looks.Told{Look: api.FirstLook{Mode: "auto", Agents: []api.AgentRow{{Name: "builder", State: *state.Load()}}}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	end := goes(t, b)
	box2 := func() (h api.HostLook) {
		if all := a.Looks(t.Context(), 0).Hosts; len(all) == 1 {
			return all[0]
		}
		return h
	}
	shows := func(want string) func() bool {
		return func() bool {
			agents := box2().Agents(time.Now())
			return len(agents) == 1 && agents[0].Name == "box2/builder" && agents[0].State == want
		}
	}
	eventually(t, "it works", shows("working"))
	number := a.Looks(t.Context(), 0).Number
	if again := a.Looks(t.Context(), number); !again.Hosts[0].Same {
		t.Errorf("what was told already is told again: %+v", again)
	}
	idle := "idle"
	state.Store(&idle)
	b.Stir()
	eventually(t, "it is idle", shows("idle"))
	gone := "gone"
	state.Store(&gone)
	b.Stir()
	eventually(t, "it is gone", func() bool { h := box2(); return h.Status == "ok" && len(h.Look.Agents) == 0 })
	state.Store(&blind)
	b.Stir()
	eventually(t, "it cannot look", func() bool { h := box2(); return h.IsSilent() && strings.Contains(h.Why, "tmux hangs") })
	state.Store(&idle)
	b.Stir()
	eventually(t, "it is idle again", shows("idle"))
	end()
	eventually(t, "it is silent", shows("unknown"))
	hub.Stop(0)
	eventually(t, "the hub is gone", func() bool { h := box2(); return h.IsSilent() && strings.Contains(h.Why, "the hub is not reached") })
	idleOne, err := Open(a.o) // as after a start while the hub is away
	if err != nil {
		t.Fatal(err)
	}
	if all := idleOne.Looks(t.Context(), 0).Hosts; len(all) != 1 || all[0].Name != "box2" || !all[0].IsSilent() || all[0].Why != "not connected yet" {
		t.Errorf("before it is connected: %+v", all)
	}
}
