package containers

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/observe"
	"custos/internal/sys/enginetest"
)

// A container that restarts 50 times a minute, with four events each time, has
// the engine looked at no more than once a second.
func TestEventsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		events, n := make(chan struct{}, 1), 0
		p := &Probe{address: "unix:///x", o: Options{Engine: heard{events: events}}}
		done := make(chan struct{})
		go func() { defer close(done); _ = p.Watch(ctx, func() { n++ }) }()
		synctest.Wait()
		if n != 1 {
			t.Fatalf("the beginning of the stream was told %d times, want 1", n)
		}
		for range 200 {
			time.Sleep(300 * time.Millisecond) // of the bubble: nobody waits
			events <- struct{}{}
		}
		time.Sleep(2 * gather)
		synctest.Wait()
		if n < 55 || n > 62 {
			t.Errorf("200 events in a minute were told %d times, want about 60", n)
		}
		was := n
		time.Sleep(time.Hour)
		if synctest.Wait(); n != was {
			t.Errorf("an hour without events was told %d times", n-was)
		}
		stop()
		<-done
	})
}

// heard is an engine of which only events are heard.
type heard struct {
	Engine
	events chan struct{}
}

func (h heard) Listen(ctx context.Context, tell func()) error {
	tell()
	for {
		select {
		case <-h.events:
			tell()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// deaf is an engine that hangs up at once.
type deaf struct {
	Engine
	tries *int
}

func (d deaf) Listen(context.Context, func()) error {
	*d.tries++
	return errors.New("hung up")
}

// An engine that is away is asked less and less often, and for ever.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		tries := 0
		p := &Probe{address: "unix:///x", o: Options{Engine: deaf{tries: &tries}}}
		if err := p.Watch(ctx, func() { t.Error("an engine that is away was heard") }); err != nil {
			t.Error(err)
		}
		if tries < 100 || tries > 130 {
			t.Errorf("an engine that was away for an hour was tried %d times, want about 120", tries)
		}
	})
}

// After a restart of the engine in the middle of the stream, events come again.
func TestEngineRestarted(t *testing.T) {
	f := enginetest.New(t)
	p, err := New(Options{Socket: f.Socket})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = p.Watch(ctx, func() { n.Add(1) }) }()
	more := func(what string, do func()) {
		t.Helper()
		was := n.Load()
		do()
		if !enginetest.Until(func() bool { return n.Load() > was }) {
			t.Fatalf("%s was not heard", what)
		}
	}
	if !enginetest.Until(func() bool { return n.Load() > 0 }) { // it may be heard before anybody counts
		t.Fatal("the beginning was not heard")
	}
	more("a death", func() { f.Tell("die", "abc") })
	more("the end of the engine", f.Stop)
	more("its new beginning", func() { f.Start(t) })
	more("a death after it", func() { f.Tell("die", "abc") })
	stop()
	<-done
}

// An engine that custos.toml does not count on is absent when it is not there, or
// not for this user; else it is not seen.
func TestUnreached(t *testing.T) {
	f, bad := enginetest.New(t), errors.New("it gave no answer")
	nowhere := filepath.Join(t.TempDir(), "none.sock")
	for _, c := range []struct {
		name   string
		o      Options
		socket string
		absent bool
	}{
		{"no socket", Options{}, nowhere, true},
		{"no socket, but containers of ours", Options{Ours: []string{"web"}}, nowhere, false},
		{"no socket, but one is named", Options{Socket: nowhere}, nowhere, false},
		{"an engine that answers nonsense", Options{}, f.Socket, false},
	} {
		if err := c.o.unreached(c.socket, bad); errors.Is(err, observe.ErrAbsent) != c.absent {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	p := &Probe{address: "unix://" + nowhere, met: true}
	if err := p.unseen(bad); err != bad {
		t.Errorf("an engine that was there before is %v", err)
	}
}
