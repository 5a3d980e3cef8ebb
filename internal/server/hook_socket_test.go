package server

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"custos/internal/hookwire"
)

// hearing is a daemon's ear, which looks into its spool often.
func hearing(t *testing.T) (run string, h *HookListener, b *book) {
	t.Helper()
	run, b = shortDir(t), &book{}
	h, err := ListenHooks(HookOptions{Run: run, Hooks: b, DrainEvery: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return run, h, b
}

// hears waits until an event that is posted to the socket is taken.
func hears(t *testing.T, run string, b *book, id string) {
	t.Helper()
	p := hookwire.Post{V: hookwire.Version, ID: id, Kind: "claude", Event: "Stop", Payload: []byte("{}")}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := hookwire.Send(hookwire.Socket(run), p, time.Second); err == nil && len(b.ids()) > 0 && b.ids()[len(b.ids())-1] == id {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s was not heard: %v", id, b.ids())
		}
	}
}

// madeAnew has the socket made anew by who holds the lock: nothing else does it.
func madeAnew(t *testing.T, h *HookListener, want string) {
	t.Helper()
	if was, err := h.Mend(); err != nil || !strings.Contains(was, want) {
		t.Errorf("making it anew: %q, %v; want %q", was, err, want)
	}
	if was, err := h.Mend(); err != nil || was != "" {
		t.Errorf("with nothing wrong it was made anew: %q, %v", was, err)
	}
}

// TestTheSocketOfHooksIsMadeAnew: removed, or exchanged for one that answers "taken" and
// keeps nothing, it is ours again when it is mended, and that is told.
func TestTheSocketOfHooksIsMadeAnew(t *testing.T) {
	run, h, b := hearing(t)
	hears(t, run, b, "first")
	if why := h.Trouble(); why != "" {
		t.Errorf("all is well, and: %q", why)
	}
	if err := os.Remove(hookwire.Socket(run)); err != nil {
		t.Fatal(err)
	}
	madeAnew(t, h, "removed")
	hears(t, run, b, "second")
	if why := h.Trouble(); !strings.Contains(why, "removed") {
		t.Errorf("it was removed, and: %q", why)
	}
	thief, err := net.Listen("unix", run+"/thief")
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	if err := os.Rename(run+"/thief", hookwire.Socket(run)); err != nil {
		t.Fatal(err)
	}
	madeAnew(t, h, "something else")
	hears(t, run, b, "third")
	if why := h.Trouble(); !strings.Contains(why, "hooks") {
		t.Errorf("it was exchanged, and: %q", why)
	}
}

// TestASocketThatIsNotOursIsLeft: what lies in its place at the end is somebody else's.
func TestASocketThatIsNotOursIsLeft(t *testing.T) {
	run := shortDir(t)
	h, err := ListenHooks(HookOptions{Run: run, Hooks: &book{}, DrainEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(hookwire.Socket(run)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hookwire.Socket(run), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if why := h.Trouble(); !strings.Contains(why, "something else") {
		t.Errorf("%q", why)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := h.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(hookwire.Socket(run)); err != nil {
		t.Errorf("it was taken away: %v", err)
	}
}

// TestASocketOfTheSameNumberIsAnother: the number of a file that is gone may be the next one's.
func TestASocketOfTheSameNumberIsAnother(t *testing.T) {
	path := shortDir(t) + "/s"
	listen := func() func() {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return func() { _ = l.Close() } // the file goes with it
	}
	end := listen()
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	was, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if why := SocketTrouble(path, was); why != "" {
		t.Errorf("it is the same, and: %q", why)
	}
	end()
	defer listen()()
	if SocketTrouble(path, was) == "" {
		t.Error("another one is taken for it")
	}
}
