package tmux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// ProviderOptions say which server is ours, and how it is used.
type ProviderOptions struct {
	// Deadline of one tmux command, as text ("2s", the default).
	Deadline string `toml:"deadline"`
	// Start is how long a shim may take to start its agent ("10s", the default).
	// It takes some 20 ms; a machine that swaps takes seconds.
	Start string `toml:"start"`

	Socket string `toml:"-"` // of the one server that is used, and started when it is not there
	Shim   string `toml:"-"` // the shim's executable, from shim.Find; needed by Launch only
	Tmux   string `toml:"-"` // the program; empty finds "tmux" in PATH
	Boot   string `toml:"-"` // boot id put into identities; empty reads the kernel's
	Scope  Scope  `toml:"-"` // in which the server begins
}

// Provider runs agents in panes of one tmux server of ours: it has its own
// socket and reads no person's configuration. The provider never touches another
// server. To type into a pane elsewhere, make a provider for that
// very socket; only Launch sets options of a server.
//
// It is safe for concurrent use.
type Provider struct {
	*Viewer
	socket string
	shim   string
	start  time.Duration
	procs  *proc.Reader
	turns  shim.Turns
	bell   chan struct{} // rung when the server is there
	asking asking
	scope  scoped

	listened atomic.Bool // there is a client in control mode, which takes shots
	shots    chan *shot
}

var _ session.Provider = (*Provider)(nil)

// NewProvider makes a provider. It starts no server.
func NewProvider(o ProviderOptions) (*Provider, error) {
	if !filepath.IsAbs(o.Socket) {
		return nil, fmt.Errorf("cannot use tmux socket %q: want an absolute path", o.Socket)
	}
	v, err := New(Options{Sockets: []string{o.Socket}, Deadline: o.Deadline, Tmux: o.Tmux, Boot: o.Boot})
	if err != nil {
		return nil, err
	}
	p := &Provider{Viewer: v, socket: o.Socket, shim: o.Shim, start: 10 * time.Second, procs: proc.NewReader(proc.TableOptions{}), bell: make(chan struct{}, 1), asking: asking{patience: v.deadline, pause: pause}, shots: make(chan *shot), scope: scoped{Scope: o.Scope}}
	if o.Start != "" {
		if p.start, err = time.ParseDuration(o.Start); err != nil || p.start <= 0 {
			return nil, fmt.Errorf("cannot use start %q: want a positive duration such as \"10s\"", o.Start)
		}
	}
	return p, nil
}

// errNoAnswer says that the server did not answer in time: what it was told, it
// may still do.
var errNoAnswer = errors.New("no answer")

// errRefused says that the server answered, and refused.
var errRefused = errors.New("refused")

// errLost says that the server ended while it was told something. What it had done until
// then is gone with it, but for what its programs did.
var errLost = errors.New("it ended before it answered")

// tell has the server execute commands and returns what they printed. Its error
// wraps session.ErrAbsent, errLost, errRefused, errNoAnswer, errStopped, or what kept it from asking.
func (p *Provider) tell(ctx context.Context, stdin string, args ...string) (string, error) {
	name := fleet.Path(p.socket)
	program, err := p.program()
	if err != nil {
		return "", fmt.Errorf("cannot tell tmux server %s: %w", name, err)
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("cannot tell tmux server %s: %w", name, ctx.Err())
	}
	if err := p.stopped(p.socket); err != nil {
		return "", fmt.Errorf("cannot tell tmux server %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"-u", "-S", p.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env, cmd.Dir = environment(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = draining
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err = cmd.Run()
	switch {
	case err == nil:
		return strings.TrimSpace(out.String()), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("cannot tell tmux server %s: %w: %w", name, errNoAnswer, ctx.Err())
	case errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("cannot tell tmux server %s: %w: %w", name, errNoAnswer, err)
	case isGone(p.socket):
		return "", fmt.Errorf("cannot tell tmux server %s: %w", name, session.ErrAbsent)
	case hungUp(errs.String()):
		return "", fmt.Errorf("cannot tell tmux server %s: %w", name, errLost)
	}
	return out.String(), fmt.Errorf("cannot tell tmux server %s: %w: %s", name, errRefused, fleet.Line(cmp.Or(errs.String(), err.Error()), 200))
}

// hungUp says whether a client says of itself that its server has ended. By the time that
// is looked at another one may listen there, or the one that ends does so still.
func hungUp(said string) bool {
	said = strings.TrimSpace(said)
	return said == "server exited unexpectedly" || said == "lost server" || said == "server exited"
}

// isOver says whether a server was not there any more when it was told something.
func isOver(err error) bool { return errors.Is(err, errLost) || errors.Is(err, session.ErrAbsent) }

// every asks for a line about each pane; there is none without a server, nor in one without
// a session. One that ends meanwhile is asked no more, but the next one is.
func (p *Provider) every(ctx context.Context, format string) (string, error) {
	out, err := p.tell(ctx, "", "list-panes", "-a", "-F", format)
	for try := 1; errors.Is(err, errLost) && try < tries; try++ {
		out, err = p.tell(ctx, "", "list-panes", "-a", "-F", format)
	}
	if errors.Is(err, session.ErrAbsent) || errors.Is(err, errRefused) && strings.Contains(err.Error(), "no current target") {
		return "", nil
	}
	return out, err
}

// place is a pane as tmux names it when it is made or found.
type place struct {
	pane      string
	serverPID int
	rootPID   int
}

const placeFormat = "#{pane_id} #{pid} #{pane_pid}"

func parsePlace(text string) (place, error) {
	f := strings.Fields(text)
	if len(f) != 3 || !isPane(f[0]) || number(f[1]) <= 1 || number(f[2]) <= 1 {
		return place{}, fmt.Errorf("cannot use what tmux says of a pane: %q", fleet.Line(text, 100))
	}
	return place{pane: f[0], serverPID: number(f[1]), rootPID: number(f[2])}, nil
}

// isPane says whether a string is a pane id and hence may be part of a command.
func isPane(s string) bool {
	n, ok := strings.CutPrefix(s, "%")
	_, err := strconv.ParseUint(n, 10, 32)
	return ok && err == nil
}

// alive says whether a process still runs; a zombie does not.
func (p *Provider) alive(id shim.ID) bool {
	s, err := p.procs.Stat(id.PID)
	return err == nil && s.ID.Start == id.Start && s.State != "Z" && s.State != "X"
}

func (p *Provider) process(id shim.ID) fleet.ProcessID {
	return fleet.ProcessID{PID: id.PID, Start: id.Start, Boot: p.o.Boot}
}

// SessionName returns the name of the session that an instance runs in:
// NAME~INSTANCE, where everything but ASCII letters, digits, '_' and '-' is
// written as +XX. tmux would turn other names into names of its own, and take
// some for patterns.
func SessionName(name, instance string) string { return encode(name) + "~" + encode(instance) }

func isPlainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func encode(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if isPlainByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "+%02x", c)
		}
	}
	return b.String()
}

// folder makes the folder of the socket, for our user alone.
func (p *Provider) folder() error {
	if err := os.MkdirAll(filepath.Dir(p.socket), 0o700); err != nil {
		return fmt.Errorf("cannot make a place for the tmux socket: %w", err)
	}
	return nil
}
