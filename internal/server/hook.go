package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"custos/internal/hookwire"
)

// Hooks takes events that agents report of themselves.
type Hooks interface {
	// Take writes an event down, once however often it comes, and returns what
	// the hook is to print for the agent CLI ("" for nothing). When it returns an
	// error, the event is kept in the spool and comes again, before all that lie
	// there behind it; unless the error says that trying again cannot mend it, by
	// a method Settled (see Unusable), when the event is forgotten.
	Take(ctx context.Context, p hookwire.Post) (output string, err error)
}

// Unusable marks the error of an event that will never be of use, such as one of
// a kind that is not known.
func Unusable(err error) error { return unusable{err} }

type unusable struct{ error }

func (e unusable) Unwrap() error { return e.error }
func (e unusable) Settled() bool { return true }

func isSettled(err error) bool {
	var s interface{ Settled() bool }
	return errors.As(err, &s) && s.Settled()
}

// Whose finds out whose a post is, by the process that posts. relays says that this
// is a program that the agent calls, and not the agent itself. pid is 0 for a post that
// was spooled.
type Whose func(pid int, relays bool, p *hookwire.Post) error

// HookOptions say where hooks arrive, and what takes them.
type HookOptions struct {
	Run   string // the run folder: hook.sock and spool are in it
	Hooks Hooks
	// Whose puts what the kernel says of the process that posts in the place of what
	// the post says; an event that it fails for is not taken. Nil: posts are believed.
	Whose Whose
	// AtOnce is how many connections are served at once (default 64); more wait
	// in the kernel's queue, and after 50 ms spool what they have.
	AtOnce int
	// DrainEvery is how often the spool is looked into while nothing says that
	// something is in it (default 15 s).
	DrainEvery time.Duration
	Log        *slog.Logger // nil: nothing is logged
}

// HookListener receives the hooks of agents.
type HookListener struct {
	o      HookOptions
	socket hookSocket
	spool  hookwire.Spool
	spare  chan struct{} // one token a connection
	drains chan struct{} // something may be in the spool
	mu     sync.Mutex    // one drain at a time
}

// How long one connection may take: custos-hook gives up after 50 ms, so
// whatever is slower is no custos-hook.
const hookDeadline = 2 * time.Second

// ListenHooks makes the socket, for this user only, and the spool's folder. The
// caller holds the daemon's lock.
func ListenHooks(o HookOptions) (*HookListener, error) {
	if o.AtOnce <= 0 {
		o.AtOnce = 64
	}
	if o.DrainEvery <= 0 {
		o.DrainEvery = 15 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(hookwire.SpoolDir(o.Run), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the spool of hook events: %w", err)
	}
	h := &HookListener{o: o, spool: hookwire.Spool{Dir: hookwire.SpoolDir(o.Run)},
		spare: make(chan struct{}, o.AtOnce), drains: make(chan struct{}, 1)}
	h.socket.path = hookwire.Socket(o.Run)
	if err := h.socket.listen(); err != nil {
		return nil, err
	}
	return h, nil
}

// Trouble says what is, or lately was, wrong with the socket of the hooks:
// while it is another's, hooks are spooled, or reach what made it.
func (h *HookListener) Trouble() string { return h.socket.says(time.Now()) }

// Mend makes the socket anew when the file is not ours any more, and says what was wrong;
// "" when nothing was. The caller has made sure that it holds the daemon's lock still.
func (h *HookListener) Mend() (was string, err error) {
	if was, err = h.socket.mend(time.Now()); err != nil {
		err = fmt.Errorf("cannot receive hooks: %s: %w", was, err)
	}
	return was, err
}

// Serve drains the spool and receives hooks until ctx ends; then it lets those that
// are being received finish. It returns nil when ctx ended it.
func (h *HookListener) Serve(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, h.socket.close)
	defer stop()
	h.drainSoon()
	wg.Go(func() { h.keepDraining(ctx) })
	for {
		l := h.socket.listener()
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if errors.Is(err, net.ErrClosed) && h.socket.listener() != l {
			continue // it was made anew
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("cannot receive hooks: %w", err)
		}
		if err != nil { // out of file descriptors, say: the hooks spool meanwhile
			h.o.Log.Warn("cannot receive a hook", "err", err)
			pause(ctx, 100*time.Millisecond)
			continue
		}
		h.spare <- struct{}{}
		wg.Go(func() {
			defer func() { <-h.spare }()
			h.receive(ctx, conn)
		})
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// receive serves one connection: any number of events, each answered.
func (h *HookListener) receive(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	c, err := PeerOf(conn)
	if err != nil || c.UID != os.Getuid() && c.UID != 0 {
		h.o.Log.Warn("refused a hook of another user", "uid", c.UID, "err", err)
		return
	}
	for {
		_ = conn.SetDeadline(time.Now().Add(hookDeadline))
		p, err := hookwire.ReadPost(conn)
		var bad *hookwire.BadPost
		switch {
		case errors.As(err, &bad):
			h.o.Log.Warn("refused a hook event", "err", err)
			if hookwire.WriteAck(conn, hookwire.Ack{V: hookwire.Version, Why: err.Error()}) != nil {
				return
			}
			continue
		case err != nil:
			return // the end of it, or nothing that a custos-hook would send
		}
		if h.o.Whose != nil {
			if err := h.o.Whose(c.PID, true, &p); err != nil {
				h.o.Log.Warn("cannot take a hook event", "id", p.ID, "err", err)
				return // it lies in the spool then
			}
		}
		if hookwire.WriteAck(conn, h.take(withWait(ctx, conn, p), p)) != nil {
			h.drainSoon() // nothing waited for the answer: the event lies in the spool now
			return
		}
	}
}

// waitKey is that of a context in which a hook can be told to wait.
type waitKey struct{}

func withWait(ctx context.Context, conn net.Conn, p hookwire.Post) context.Context {
	return context.WithValue(ctx, waitKey{}, sync.OnceFunc(func() {
		_ = hookwire.WriteAck(conn, hookwire.Ack{V: p.V, ID: p.ID, Wait: true}) // who is gone hears no answer either
	}))
}

// HookWaits tells the hook whose event is being taken to wait longer for its answer than the 50 ms
// that custos-hook waits: for hookwire.LongWait at most.
func HookWaits(ctx context.Context) {
	if tell, ok := ctx.Value(waitKey{}).(func()); ok {
		tell()
	}
}

// take hands an event on. What the daemon's end cuts short is kept in the spool
// by the hook.
func (h *HookListener) take(ctx context.Context, p hookwire.Post) (a hookwire.Ack) {
	a = hookwire.Ack{V: p.V, ID: p.ID}
	defer func() {
		if f := recover(); f != nil { // one bad event must not end the daemon
			h.o.Log.Error("cannot take a hook event: a fault of Custos", "fault", f)
			a.OK, a.Why = false, "a fault of Custos"
		}
	}()
	output, err := h.o.Hooks.Take(ctx, p)
	if err != nil {
		h.o.Log.Warn("cannot take a hook event", "id", p.ID, "err", err)
		a.OK, a.Why = isSettled(err), err.Error()
		return a
	}
	a.OK, a.Output = true, output
	return a
}

// drainSoon has the spool looked into.
func (h *HookListener) drainSoon() {
	select {
	case h.drains <- struct{}{}:
	default: // that was said already
	}
}

func (h *HookListener) keepDraining(ctx context.Context) {
	tick := time.NewTicker(h.o.DrainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.drains:
		case <-tick.C:
		}
		d, err := h.drain(ctx)
		if err != nil && ctx.Err() == nil {
			h.o.Log.Warn("cannot empty the spool of hook events", "err", err)
		}
		if d.Bad+d.Dropped > 0 {
			h.o.Log.Warn("hook events are lost", "unreadable", d.Bad, "dropped", d.Dropped)
		}
	}
}

// Drained is what became of the spool.
type Drained struct {
	Taken   int
	Bad     int // could not be read, and were set aside in the spool as NAME.bad
	Dropped int // were deleted before, because the spool was full
}

// drain takes what lies in the spool, oldest first. It stops at the first event
// that cannot be taken now, so that none overtakes another; what is left stays
// for the next time.
func (h *HookListener) drain(ctx context.Context) (d Drained, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names, err := h.spool.List()
	if err != nil {
		return d, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		if err := h.drainOne(ctx, name, &d); err != nil {
			return d, err
		}
	}
	d.Dropped, err = h.spool.Dropped()
	return d, err
}

func (h *HookListener) drainOne(ctx context.Context, name string, d *Drained) error {
	p, err := h.spool.Get(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // another hook made room
	case errors.Is(err, fs.ErrPermission):
		return err
	case err != nil:
		h.o.Log.Warn("set a hook event aside", "err", err)
		d.Bad++
		return h.spool.SetAside(name)
	}
	if h.o.Whose != nil {
		if err := h.o.Whose(0, true, &p); err != nil {
			return err
		}
	}
	if a := h.take(ctx, p); !a.OK {
		return fmt.Errorf("cannot take spooled hook event %s: %s", name, a.Why)
	}
	d.Taken++
	return h.spool.Remove(name)
}
