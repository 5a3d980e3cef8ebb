// Package watch tells of events the moment they happen, so that nobody has to
// wait for a look: the death of a process with its cause (Watcher), and files
// that change (Files). It touches nothing.
package watch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

// Death is the end of an agent's process, or of a terminal server that agents run in.
type Death struct {
	Agent  string // its name when it was last followed; "" of a server
	Server string // socket of the server; "" of an agent
	Exit   fleet.Exit
}

// Options is what a Watcher is made of.
type Options struct {
	// Died is called once for each death, one at a time, from a goroutine of the
	// watcher. It should not take long: the next death waits for it. Needed.
	Died func(Death)
	// Now is the clock; needed.
	Now func() fleet.Instant
	// Exits returns how an instance ended, as its shim wrote it down; nil while
	// that is not known. It may be nil: then no shim is asked.
	Exits func(instance string) *fleet.Exit
	// ShimGone says whether the shim of an instance is gone for certain, and has
	// written down no end. It may be nil: then none is waited for.
	ShimGone func(instance string) bool
	// Asked returns who asked for the end of an instance that came at a moment, as it
	// was written beside the shim's record; "" for nobody. It may be nil: then nobody is
	// taken to have asked.
	Asked func(instance string, ended fleet.Instant) string
	// Max is how many processes are followed at most, each with one file
	// descriptor; 0 is 4096.
	Max int
	// Proc is the proc file system; empty is /proc.
	Proc string
}

// What a Watcher that is not told otherwise does.
const (
	defaultMax = 4096
	// shimTakes is how long a shim's exit file is waited for.
	shimTakes = 100 * time.Millisecond
	shimAsked = 2 * time.Millisecond // between two times it is asked
)

// Watcher holds one pidfd for each process it follows, and sleeps until one of
// them dies. It is safe for concurrent use.
type Watcher struct {
	o     Options
	epoll int
	bell  int // eventfd: wakes the loop to end

	told    sync.Mutex // one call of Died at a time
	slow    sync.WaitGroup
	stopped chan struct{} // closed when the watcher is to end
	ended   chan struct{} // closed when its loop has ended
	once    sync.Once

	mu       sync.Mutex
	closed   bool
	held     map[fleet.ProcessID]int32 // pidfd of each process followed
	watched  map[int32]watched         // by pidfd
	reported map[fleet.ProcessID]bool  // told dead, and still in what Follow is given
	fallen   map[fleet.ProcessID]fleet.Instant
}

// watched is one process that is followed.
type watched struct {
	fd       int
	id       fleet.ProcessID
	agent    string
	instance string
	socket   string          // of a terminal server
	within   fleet.ProcessID // the terminal server that an agent runs in; zero for none
}

func (p watched) isServer() bool { return p.agent == "" && p.socket != "" }

// New starts a watcher that follows nothing yet. Close ends it.
func New(o Options) (*Watcher, error) {
	if o.Died == nil || o.Now == nil {
		return nil, errors.New("cannot watch processes: Died and Now are needed")
	}
	o.Max, o.Proc = cmp.Or(o.Max, defaultMax), cmp.Or(o.Proc, "/proc")
	w := &Watcher{o: o, held: map[fleet.ProcessID]int32{}, watched: map[int32]watched{}, reported: map[fleet.ProcessID]bool{},
		fallen:  map[fleet.ProcessID]fleet.Instant{},
		stopped: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot watch processes: %w", err)
	}
	if w.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(w.epoll)
		return nil, fmt.Errorf("cannot watch processes: %w", err)
	}
	if err := w.add(w.bell); err != nil {
		unix.Close(w.epoll)
		unix.Close(w.bell)
		return nil, err
	}
	go w.run()
	return w, nil
}

func (w *Watcher) add(fd int) error {
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("cannot watch process: %w", err)
	}
	return nil
}

// Follow has the processes of these agents watched too, and the terminal servers
// that they run in: what ends with its server is told so. A process that is
// followed stays so until it dies, whether it is in the list or not: a look that
// misses it may have been quicker than its death. One that is gone already is
// told dead, once. Agents without a process are not followed.
func (w *Watcher) Follow(agents []fleet.Agent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	current := make(map[fleet.ProcessID]bool, len(agents))
	for i := range agents {
		a := &agents[i]
		if a.Process.PID <= 0 {
			continue
		}
		current[a.Process] = true
		p := watched{fd: -1, id: a.Process, agent: a.Name, instance: a.Instance}
		if a.Pane != nil && a.Pane.ID.Server.PID > 0 {
			p.within, p.socket = a.Pane.ID.Server, a.Pane.ID.Socket
			current[p.within] = true
			w.follow(watched{fd: -1, id: p.within, socket: p.socket})
		}
		w.follow(p)
	}
	for id := range w.reported {
		if !current[id] {
			delete(w.reported, id)
		}
	}
}

// follow opens a pidfd, and looks at the start time only then: from there on the
// pid cannot belong to another process unnoticed.
func (w *Watcher) follow(p watched) {
	if fd, ok := w.held[p.id]; ok {
		if was := w.watched[fd]; was.agent != p.agent || was.instance != p.instance || p.within.PID != 0 && was.within != p.within {
			p.fd = int(fd)
			w.watched[fd] = p
		}
		return
	}
	if w.reported[p.id] {
		return
	}
	if len(w.watched) >= w.o.Max {
		return
	}
	fd, err := unix.PidfdOpen(p.id.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		w.gone(p)
		return
	case err != nil:
		return // no descriptor to be had, or no right: the look will tell
	}
	if s, err := readStat(w.o.Proc, p.id.PID); err != nil || s.Start != p.id.Start {
		unix.Close(fd)
		w.gone(p)
		return
	}
	if w.add(fd) != nil {
		unix.Close(fd)
		return
	}
	p.fd = fd
	w.held[p.id], w.watched[int32(fd)] = int32(fd), p
}

// gone tells of a process that died before it could be followed.
func (w *Watcher) gone(p watched) {
	w.reported[p.id] = true
	w.slow.Go(func() { w.tell(p, w.late(p, lost(w.o.Now()))) })
}

// Close ends the watcher: no death is told from the moment it returns. Died may
// not call it.
func (w *Watcher) Close() error {
	w.once.Do(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		close(w.stopped)
		_, _ = unix.Write(w.bell, binary.NativeEndian.AppendUint64(nil, 1)) // cannot be full: it is rung once
		<-w.ended
		w.slow.Wait()
		for fd := range w.watched {
			unix.Close(int(fd))
		}
		unix.Close(w.bell)
		unix.Close(w.epoll)
	})
	return nil
}

// run waits for deaths. It sleeps in the kernel meanwhile.
func (w *Watcher) run() {
	defer close(w.ended)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			if e.Fd == int32(w.bell) {
				return
			}
			w.wake(e.Fd)
		}
	}
}

// wake takes up a death. The exact cause is there at once nearly always; what is
// not must not keep the next death waiting.
func (w *Watcher) wake(fd int32) {
	w.mu.Lock()
	p, ok := w.watched[fd]
	w.mu.Unlock()
	if !ok {
		return
	}
	exit, known := w.cause(p)
	w.mu.Lock()
	delete(w.watched, fd)
	delete(w.held, p.id)
	w.reported[p.id] = true
	w.mu.Unlock()
	if known {
		unix.Close(p.fd) // leaves the epoll set by itself
		w.tell(p, exit)
		return
	}
	_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, p.fd, nil) // dead, so it would wake again and again
	w.slow.Go(func() {
		defer unix.Close(p.fd)
		w.tell(p, w.late(p, exit))
	})
}

func (w *Watcher) tell(p watched, exit fleet.Exit) {
	w.told.Lock()
	defer w.told.Unlock()
	select {
	case <-w.stopped:
		return
	default:
	}
	exit.Process, exit.Instance = p.id, p.instance
	exit.Asked = cmp.Or(exit.Asked, w.asked(p, exit.At))
	exit.ShimGone = w.hasShim(p) && exit.Source != sourceShim && w.o.ShimGone(p.instance)
	if p.isServer() {
		w.fell(p.id, exit.At)
		w.o.Died(Death{Server: p.socket, Exit: exit})
		return
	}
	if w.wentWith(p, exit.At) {
		exit.Server = p.socket
	}
	w.o.Died(Death{Agent: p.agent, Exit: exit})
}

// together is how far apart the ends of a terminal server and of what ran in it
// may lie.
const together = 10 * time.Second

func (w *Watcher) fell(server fleet.ProcessID, at fleet.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.fallen, func(_ fleet.ProcessID, was fleet.Instant) bool { return at.Since(was) > together })
	w.fallen[server] = at
}

// wentWith says whether an agent ended with the server it ran in. The ends of
// agents that are told before their server's are joined by whoever is told.
func (w *Watcher) wentWith(p watched, at fleet.Instant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	fell, ok := w.fallen[p.within]
	return ok && at.Since(fell).Abs() <= together
}
