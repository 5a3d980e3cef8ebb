package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/hookwire"
	"custos/internal/store"
)

// book is a fake of the port, which takes an event once.
type book struct {
	mu    sync.Mutex
	seen  map[string]bool
	taken []hookwire.Post
	hold  chan struct{} // when set, Take waits for it
	fail  func(p hookwire.Post) error
	out   string
}

func (b *book) Take(ctx context.Context, p hookwire.Post) (string, error) {
	b.mu.Lock()
	hold := b.hold
	b.mu.Unlock()
	if hold != nil {
		<-hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		if err := b.fail(p); err != nil {
			return "", err
		}
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	if !b.seen[p.ID] {
		b.seen[p.ID] = true
		b.taken = append(b.taken, p)
	}
	return b.out, nil
}

func (b *book) ids() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.taken {
		out = append(out, p.ID)
	}
	return out
}

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "hk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listening(t testing.TB, o HookOptions) *HookListener {
	t.Helper()
	if o.DrainEvery == 0 {
		o.DrainEvery = time.Hour // only when it is told
	}
	h, err := ListenHooks(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h
}

func aPost(id string) hookwire.Post {
	p := hookwire.Post{Kind: "claude", Event: "Stop"}
	p.Stamp()
	p.ID = id
	p.SetPayload([]byte(`{"session_id":"s"}`))
	return p
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(until) {
			t.Fatalf("it never came to this: %s", what)
		}
		time.Sleep(time.Millisecond) // the real world catches up
	}
}

func spoolOf(run string) hookwire.Spool { return hookwire.Spool{Dir: hookwire.SpoolDir(run)} }

func spooled(t testing.TB, run string) []string {
	t.Helper()
	list, err := spoolOf(run).List()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestHookIsTakenAndAnswered(t *testing.T) {
	run, b := shortDir(t), &book{out: "remember the milk"}
	listening(t, HookOptions{Run: run, Hooks: b})
	ack, err := hookwire.Send(hookwire.Socket(run), aPost("a"), 5*time.Second)
	if err != nil || !ack.OK || ack.Output != "remember the milk" {
		t.Errorf("%+v %v", ack, err)
	}
	if got := b.ids(); !slices.Equal(got, []string{"a"}) || b.taken[0].PPIDs[0].PID != os.Getppid() {
		t.Errorf("took %v", b.taken)
	}
	info, err := os.Stat(hookwire.Socket(run))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v (%v)", info.Mode(), err)
	}
}

// TestBadHookLosesNothingElse sends every kind of rubbish between good events.
// A hook that is told to wait has its answer later than it would have waited for it; it is told so once.
func TestAHookWaitsWhenItIsTold(t *testing.T) {
	for _, told := range []bool{true, false} {
		run, late := shortDir(t), make(chan struct{})
		slow := takes(func(ctx context.Context, p hookwire.Post) (string, error) {
			for range 2 {
				if told {
					HookWaits(ctx)
				}
			}
			<-late
			return "the answer", nil
		})
		h, err := ListenHooks(HookOptions{Run: run, Hooks: slow})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() { _ = h.Serve(ctx) })
		p := hookwire.Post{Kind: "claude", Event: "PostToolUse"}
		p.Stamp()
		time.AfterFunc(100*time.Millisecond, func() { close(late) })
		ack, err := hookwire.Send(hookwire.Socket(run), p, 20*time.Millisecond)
		if (err == nil && ack.Output == "the answer") != told {
			t.Errorf("told to wait: %v; %+v, %v", told, ack, err)
		}
		<-late
		stop()
		serving.Wait()
	}
}

// takes is a function that takes hooks.
type takes func(context.Context, hookwire.Post) (string, error)

func (f takes) Take(ctx context.Context, p hookwire.Post) (string, error) { return f(ctx, p) }

func TestBadHookLosesNothingElse(t *testing.T) {
	run, b := shortDir(t), &book{}
	listening(t, HookOptions{Run: run, Hooks: b})
	frame := func(s string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	for _, bad := range []string{"", "x", "GET / HTTP/1.0\r\n\r\n", frame("no json"), frame(`{"v":99,"id":"x","kind":"k"}`), frame(`{"v":1,"id":"../x","kind":"k"}`), "\xff\xff\xff\xff", "\x00\x00\x10\x00{"} {
		c, err := net.Dial("unix", hookwire.Socket(run))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(bad)); err != nil && !errors.Is(err, syscall.EPIPE) {
			t.Fatal(err)
		}
		if strings.HasPrefix(bad, "\x00\x00\x00") { // a whole frame: the connection goes on
			if a, err := hookwire.ReadAck(c); err != nil || a.OK || a.Why == "" {
				t.Errorf("%q was answered %+v %v", bad, a, err)
			}
			good := aPost(fmt.Sprintf("after-%d", len(b.ids())))
			if err := hookwire.WritePost(c, good); err != nil {
				t.Fatal(err)
			}
			if a, err := hookwire.ReadAck(c); err != nil || !a.OK || a.ID != good.ID {
				t.Errorf("after %q: %+v %v", bad, a, err)
			}
		}
		_ = c.Close()
	}
	if got := len(b.ids()); got != 3 {
		t.Errorf("took %d, want 3", got)
	}
}

func TestSpoolIsDrainedInOrder(t *testing.T) {
	run, b := shortDir(t), &book{}
	s := spoolOf(run)
	for i, id := range []string{"c", "a", "b"} { // by time, not by name
		p := aPost(id)
		p.Wall = int64(1000 + i)
		if err := s.Put(p); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"00000000000000001001-x.json": "", "zz.json": `{"v":1`} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.Dir, "0-link.json")); err != nil {
		t.Fatal(err)
	}
	h := listening(t, HookOptions{Run: run, Hooks: b})
	eventually(t, "the spool is empty", func() bool { return len(spooled(t, run)) == 0 })
	if got := b.ids(); !slices.Equal(got, []string{"c", "a", "b"}) {
		t.Errorf("took %v", got)
	}
	left, err := filepath.Glob(filepath.Join(s.Dir, "*.bad"))
	if err != nil || len(left) != 3 {
		t.Errorf("set aside: %v %v", left, err)
	}
	// What cannot be taken now keeps its place; what never can be is forgotten.
	b.mu.Lock()
	b.fail = func(p hookwire.Post) error {
		return map[string]error{"e": errors.New("the disk is full"), "d": Unusable(errors.New("no such kind"))}[p.ID]
	}
	b.mu.Unlock()
	for i, id := range []string{"d", "e", "f"} {
		p := aPost(id)
		p.Wall = int64(2000 + i)
		if err := s.Put(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.drain(context.Background()); err == nil || len(spooled(t, run)) != 2 {
		t.Errorf("drained beyond a failure: %v, left %v", err, spooled(t, run))
	}
	b.mu.Lock()
	b.fail = nil
	b.mu.Unlock()
	if d, err := h.drain(context.Background()); err != nil || d.Taken != 2 || !slices.Equal(b.ids(), []string{"c", "a", "b", "e", "f"}) {
		t.Errorf("%+v %v %v", d, err, b.ids())
	}
}

// TestLateHookComesBySpool: the daemon was too slow for the hook, which spooled;
// both ways lead to one event.
func TestLateHookComesBySpool(t *testing.T) {
	run, b := shortDir(t), &book{hold: make(chan struct{})}
	listening(t, HookOptions{Run: run, Hooks: b})
	p := aPost("late")
	if _, err := hookwire.Send(hookwire.Socket(run), p, 50*time.Millisecond); err == nil {
		t.Fatal("was answered")
	}
	if err := spoolOf(run).Put(p); err != nil {
		t.Fatal(err)
	}
	close(b.hold)
	eventually(t, "the spool is empty", func() bool { return len(spooled(t, run)) == 0 })
	if got := b.ids(); !slices.Equal(got, []string{"late"}) {
		t.Errorf("took %v", got)
	}
}

// TestHookBurst: many events at once, over 40 connections at a time, through the
// real store. Each comes exactly once, by wire or by spool. CUSTOS_HOOK_BURST
// sets how many; the race detector makes SQLite 20 times slower.
func TestHookBurst(t *testing.T) {
	n, hooks := 500, 40
	if v, err := strconv.Atoi(os.Getenv("CUSTOS_HOOK_BURST")); err == nil {
		n = v
	}
	run := shortDir(t)
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := listening(t, HookOptions{Run: run, Hooks: taker{store.NewHookBatch(db), nil}})
	began := time.Now()
	var wg sync.WaitGroup
	for w := range hooks {
		wg.Go(func() {
			for i := w; i < n; i += hooks {
				p := aPost(fmt.Sprintf("e-%d", i))
				if _, err := hookwire.Send(hookwire.Socket(run), p, 50*time.Millisecond); err != nil {
					if err := spoolOf(run).Put(p); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	bySpool := len(spooled(t, run))
	if _, err := h.drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	got, err := db.HooksSince(context.Background(), fleet.Instant{}, store.HookFilter{Limit: 2 * n})
	if err != nil || len(got) != n || len(spooled(t, run)) != 0 {
		t.Errorf("%d events of %d, %d left in the spool, %v", len(got), n, len(spooled(t, run)), err)
	}
	t.Logf("%d events in %s, at least %d of them by spool", n, time.Since(began).Round(time.Millisecond), bySpool)
}

// taker is the port over a real store.
type taker struct {
	db    *store.HookBatch
	after func() // what happens between the store and the answer
}

func (s taker) Take(ctx context.Context, p hookwire.Post) (string, error) {
	_, err := s.db.TakeHook(ctx, HookEvent(p, fleet.HookEvent{Kind: p.Kind, Event: fleet.HookStop}))
	if s.after != nil {
		s.after()
	}
	return "", err
}

// TestKilledBetweenStoreAndAck kills the listener, a process of its own, when the
// event is stored and not yet acknowledged. It comes exactly once.
func TestKilledBetweenStoreAndAck(t *testing.T) {
	if dir := os.Getenv("CUSTOS_TEST_LISTENER"); dir != "" {
		db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "x.db")})
		if err != nil {
			t.Fatal(err)
		}
		listening(t, HookOptions{Run: dir, Hooks: taker{store.NewHookBatch(db), func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }}})
		select {}
	}
	run := shortDir(t)
	self := exec.Command(os.Args[0], "-test.run=^TestKilledBetweenStoreAndAck$")
	self.Env = append(os.Environ(), "CUSTOS_TEST_LISTENER="+run)
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it listens", func() bool {
		c, err := net.Dial("unix", hookwire.Socket(run))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	p := aPost("once")
	if _, err := hookwire.Send(hookwire.Socket(run), p, 5*time.Second); err == nil {
		t.Fatal("was answered")
	}
	if err := spoolOf(run).Put(p); err != nil { // as custos-hook does
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := self.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the listener ended by %v", err)
	}
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(run, "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := func() int {
		list, err := db.HooksSince(context.Background(), fleet.Instant{}, store.HookFilter{})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if count() != 1 {
		t.Fatalf("%d events before the restart: it was killed at another place", count())
	}
	listening(t, HookOptions{Run: run, Hooks: taker{store.NewHookBatch(db), nil}})
	eventually(t, "the spool is empty", func() bool { return len(spooled(t, run)) == 0 })
	if count() != 1 {
		t.Errorf("%d events, want 1", count())
	}
}

func TestHookOfAnotherUserIsRefused(t *testing.T) {
	if dir := os.Getenv("CUSTOS_TEST_STRANGER"); dir != "" {
		_, err := hookwire.Send(hookwire.Socket(dir), aPost("stranger"), 5*time.Second)
		fmt.Println("answer:", err)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can be two users")
	}
	run, b := shortDir(t), &book{}
	listening(t, HookOptions{Run: run, Hooks: b})
	for path, mode := range map[string]os.FileMode{run: 0o755, hookwire.Socket(run): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(run, "stranger")
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, text, 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command(exe, "-test.run=^TestHookOfAnotherUserIsRefused$")
	stranger.Dir = run
	stranger.Env = append(os.Environ(), "CUSTOS_TEST_STRANGER="+run)
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := stranger.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "answer: cannot post") || len(b.ids()) != 0 {
		t.Errorf("%s %v, took %v", out, err, b.ids())
	}
}

func TestPanicOfATakerEndsNothing(t *testing.T) {
	run, b := shortDir(t), &book{}
	b.fail = func(p hookwire.Post) error {
		if p.ID == "boom" {
			panic("on purpose")
		}
		return nil
	}
	listening(t, HookOptions{Run: run, Hooks: b})
	if _, err := hookwire.Send(hookwire.Socket(run), aPost("boom"), 5*time.Second); err == nil {
		t.Error("a fault was acknowledged")
	}
	if _, err := hookwire.Send(hookwire.Socket(run), aPost("next"), 5*time.Second); err != nil {
		t.Error(err)
	}
}

func TestHookRoute(t *testing.T) {
	b := &book{}
	r := hookRoute(b)
	s := &server{newWorld().options()}
	s.Log = slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	mux.Handle(r.method+" "+r.pattern, s.serve(r))
	ask := func(path, id, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("POST", path, strings.NewReader(body))
		req.Header.Set(hookMarkerHeader, "bob:i1")
		if id != "" {
			req.Header.Set(hookIDHeader, id)
		}
		mux.ServeHTTP(w, req)
		return w
	}
	for _, id := range []string{"x1", "x1", ""} {
		if w := ask("/v1/hooks/claude/Stop", id, `{"session_id":"s"}`); w.Code != 200 || w.Body.String() != "{}" {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
	}
	if len(b.taken) != 2 || b.taken[0].ID != "x1" || b.taken[0].Instance != "i1" || b.taken[0].PPIDs[0].PID != os.Getpid() {
		t.Errorf("took %+v", b.taken)
	}
	if w := ask("/v1/hooks/claude/Stop", "../x", "{}"); w.Code != 400 {
		t.Errorf("a bad id was answered %d %s", w.Code, w.Body)
	}
}

func TestHookEventStamps(t *testing.T) {
	p := aPost("x")
	p.Agent, p.Instance = "a:b", "i"
	p.PPIDs = []hookwire.Process{{PID: 5, Start: 50, Comm: "sh"}, {PID: 4, Start: 40, Comm: "node"}, {PID: 3, Start: 30, Comm: "bash"}}
	p.Denied = "delete-root"
	if e := HookEvent(p, fleet.HookEvent{Kind: "claude", Event: fleet.HookToolBegin}); e.DeniedBy() != "delete-root" {
		t.Errorf("a call that was denied is %+v", e)
	}
	e := HookEvent(p, fleet.HookEvent{Kind: "claude", Event: fleet.HookStop})
	if e.ID != "x" || e.Agent != "a:b" || e.Instance != "i" || e.Process.PID != 4 || e.Process.Start != 40 || e.Process.Boot != p.Boot ||
		e.At.Wall.UnixNano() != p.Wall || int64(e.At.Up) != p.UpNanos {
		t.Errorf("%+v", e)
	}
}
