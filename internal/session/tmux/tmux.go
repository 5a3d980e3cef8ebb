// Package tmux views any number of tmux servers: it lists panes and reads
// screens, and has no way to touch either. Each server is asked by one client
// process per look, run without a shell, in its own process group, with its own
// deadline, so that a frozen server hides no other panes but its own.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/procstat"
)

// Options says which servers are looked at, and how.
type Options struct {
	// Sockets are paths of server sockets to look at, of whatever user.
	Sockets []string `toml:"sockets" is:"path"`
	// Discover also looks at every socket of our own user below
	// ${TMUX_TMPDIR:-/tmp}/tmux-UID, where tmux puts them.
	Discover bool `toml:"discover"`
	// Deadline of one server, as text ("2s", the default). A busy server of 200
	// panes answers in 17 ms.
	Deadline string `toml:"deadline" is:"duration 1ms.."`

	TMPDir string           `toml:"-"` // TMUX_TMPDIR; empty is /tmp
	Inside string           `toml:"-"` // $TMUX of Custos itself: its server is looked at too
	UID    int              `toml:"-"` // whose servers are discovered; zero is root
	Boot   string           `toml:"-"` // boot id put into identities; empty reads the kernel's
	Proc   string           `toml:"-"` // where proc is mounted; empty is /proc
	Tmux   string           `toml:"-"` // the program; empty finds "tmux" in PATH
	Now    func() time.Time `toml:"-"` // nil is time.Now
	// TTL is how old an answer of Panes may be, because several probes ask in the
	// same moment. Zero asks the servers every time.
	TTL time.Duration `toml:"-"`
}

// Viewer views tmux servers. It is safe for concurrent use.
type Viewer struct {
	o        Options
	deadline time.Duration

	mu    sync.Mutex // held during a look, so that askers share one
	at    time.Time
	panes []fleet.Pane
	err   error

	redacted redacted

	listensMu sync.Mutex
	listens   map[string]listens // by socket
}

// New makes a viewer. It fails on a deadline it cannot read.
func New(o Options) (*Viewer, error) {
	v := &Viewer{o: o, deadline: 2 * time.Second, listens: map[string]listens{}}
	if o.Deadline != "" {
		d, err := fleet.ParseDuration(o.Deadline)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("cannot use tmux deadline %q: want a positive duration such as \"2s\"", o.Deadline)
		}
		v.deadline = d
	}
	if v.o.Now == nil {
		v.o.Now = time.Now
	}
	if v.o.Proc == "" {
		v.o.Proc = "/proc"
	}
	if v.o.TMPDir == "" {
		v.o.TMPDir = "/tmp"
	}
	if v.o.Boot == "" {
		v.o.Boot, _ = procstat.BootID() // empty: no server is known again
	}
	return v, nil
}

// Panes lists the panes of all servers, ordered by socket, session, window and
// pane. See session.Viewer.
func (v *Viewer) Panes(ctx context.Context) ([]fleet.Pane, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.o.TTL > 0 && !v.at.IsZero() && v.o.Now().Sub(v.at).Abs() < v.o.TTL {
		return slices.Clone(v.panes), v.err
	}
	panes, err := v.look(ctx)
	if ctx.Err() == nil { // an asker who gave up says nothing about the servers
		v.panes, v.err, v.at = panes, err, v.o.Now()
	}
	return slices.Clone(panes), err
}

// Forget has the next caller of Panes get an answer that is asked for after
// this call.
func (v *Viewer) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = time.Time{}
}

func (v *Viewer) look(ctx context.Context) ([]fleet.Pane, error) {
	sockets, err := v.sockets()
	v.redacted.begin()
	answers := each(sockets, func(socket string) ([]fleet.Pane, error) { return v.list(ctx, socket) })
	var panes []fleet.Pane
	errs := []error{err}
	live := 0
	for _, a := range answers {
		if errors.Is(a.err, session.ErrAbsent) {
			continue
		}
		live++
		panes = append(panes, a.panes...)
		errs = append(errs, a.err)
	}
	if err := errors.Join(errs...); err != nil || live > 0 {
		return panes, err
	}
	return nil, fmt.Errorf("no tmux server found: %w", session.ErrAbsent)
}

type answer struct {
	panes []fleet.Pane
	err   error
}

// each asks all servers side by side, at most eight at once.
func each(sockets []string, ask func(string) ([]fleet.Pane, error)) []answer {
	answers := make([]answer, len(sockets))
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i, s := range sockets {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i].panes, answers[i].err = ask(s)
		})
	}
	wg.Wait()
	return answers
}

// program finds the tmux client.
func (v *Viewer) program() (string, error) {
	if v.o.Tmux != "" {
		return v.o.Tmux, nil
	}
	return exec.LookPath("tmux")
}

// environment is all that the client needs. TMUX is not in it: it would name
// the server that Custos itself may be running in.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb"}
}
