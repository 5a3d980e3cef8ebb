// Package process is the provider of agents without a terminal: each runs under
// its shim in a session of its own, reads a FIFO, and prints into capped logs.
// Agents and shims outlive the process that launched them.
//
// Of a fleet.PaneID, Socket is the folder of all instances, Server the shim,
// Pane the instance and Root the agent.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// Options say where headless agents are, and how they are started.
type Options struct {
	// Deadline for an agent to take a text that is larger than its input holds
	// (1 MiB), as text ("2s", the default).
	Deadline string `toml:"deadline"`
	// Start is how long a shim may take to start its agent ("10s", the default).
	Start string `toml:"start"`

	Root string           `toml:"-"` // folder of all instances; absolute
	Shim string           `toml:"-"` // the shim's executable, from shim.Find; needed by Launch only
	Boot string           `toml:"-"` // boot id put into identities; empty reads the kernel's
	Now  func() time.Time `toml:"-"` // nil is time.Now
}

// Provider runs headless agents. It is safe for concurrent use, but two texts
// for one agent at the same time may mingle.
type Provider struct {
	o               Options
	deadline, start time.Duration
	procs           *proc.Reader
	turns           shim.Turns
}

var _ session.Provider = (*Provider)(nil)

// New makes a provider.
func New(o Options) (*Provider, error) {
	p := &Provider{o: o, procs: proc.NewReader(proc.TableOptions{})}
	var errs [3]error
	if !filepath.IsAbs(o.Root) {
		errs[0] = fmt.Errorf("cannot use folder of instances %q: want an absolute path", o.Root)
	}
	p.deadline, errs[1] = positive("deadline", o.Deadline, 2*time.Second)
	p.start, errs[2] = positive("start", o.Start, 10*time.Second)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if p.o.Now == nil {
		p.o.Now = time.Now
	}
	if p.o.Boot == "" {
		boot, err := proc.BootID()
		if err != nil {
			return nil, err
		}
		p.o.Boot = boot
	}
	return p, nil
}

func positive(what, text string, or time.Duration) (time.Duration, error) {
	if text == "" {
		return or, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("cannot use %s %q: want a positive duration such as \"2s\"", what, text)
	}
	return d, nil
}

// Launch starts an agent. See session.Provider.
func (p *Provider) Launch(ctx context.Context, l session.Launch) (session.Launched, error) {
	err := l.Check()
	if err == nil && shim.Dir(p.o.Root, l.Instance) != filepath.Clean(l.Shim) {
		err = fmt.Errorf("shim folder %q is not below %q", l.Shim, p.o.Root)
	}
	var s shim.Started
	if err == nil {
		s, err = p.started(ctx, l)
	}
	if err != nil {
		return session.Launched{}, fmt.Errorf("cannot launch %s: %w", l.Name, verdict(err))
	}
	return session.Launched{Pane: p.id(s), Agent: p.process(s.Agent), Shim: p.process(s.Shim), Cap: s.Cap, CapWhy: s.CapWhy}, nil
}

// started starts an agent, or finds the one that was started before.
func (p *Provider) started(ctx context.Context, l session.Launch) (shim.Started, error) {
	done, err := p.turns.Take(ctx, l.Shim)
	if err != nil {
		return shim.Started{}, err
	}
	defer done()
	s, err := p.again(ctx, l)
	if errors.Is(err, shim.ErrNotStarted) {
		return p.launch(ctx, l)
	}
	return s, err
}

// verdict turns what the shim's files say into the words of the seam.
func verdict(err error) error {
	switch {
	case errors.Is(err, shim.ErrSpent):
		return fmt.Errorf("%w: %w", session.ErrSpent, err)
	case errors.Is(err, shim.ErrLost):
		return fmt.Errorf("%w: %w", session.ErrInDoubt, err)
	}
	return err
}

// again answers for an instance that was launched before. ErrNotStarted says
// that it was not.
func (p *Provider) again(ctx context.Context, l session.Launch) (shim.Started, error) {
	s, _, err := shim.Read(l.Shim)
	switch {
	case err == nil && p.isClosed(s.Key):
		return s, fmt.Errorf("instance %s was closed: %w", l.Instance, session.ErrGone)
	case errors.Is(err, shim.ErrFailed): // an attempt that was cut off before it could clear up
		return s, cmpErr(shim.Clear(l.Shim), shim.ErrNotStarted)
	case err == nil || !errors.Is(err, shim.ErrNotStarted):
		return s, err
	}
	if _, claim := shim.ReadClaim(l.Shim); claim != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.start)
	defer cancel()
	return shim.Await(ctx, l.Shim, shim.ID{}, p.alive)
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (p *Provider) launch(ctx context.Context, l session.Launch) (shim.Started, error) {
	if err := ctx.Err(); err != nil {
		return shim.Started{}, err
	}
	err := os.MkdirAll(l.Shim, 0o700)
	if err == nil {
		err = shim.Prepare(l.Shim, l.Argv, l.Env, l.Dir)
	}
	if err == nil {
		err = shim.PrepareBoundary(l.Shim, l.Boundary)
	}
	var id shim.ID
	if err == nil {
		id, err = p.spawn(l)
	}
	if err != nil { // there is no shim that could come late
		return shim.Started{}, errors.Join(err, shim.Clear(l.Shim))
	}
	wait, cancel := context.WithTimeout(ctx, p.start)
	defer cancel()
	s, err := shim.Await(wait, l.Shim, id, p.alive)
	if err != nil {
		return p.rollBack(context.WithoutCancel(ctx), l, id, err)
	}
	return s, nil
}

// spawn starts the shim, in a session of its own and without anything of ours.
// It is reaped while we live; after that it is init's child.
func (p *Provider) spawn(l session.Launch) (shim.ID, error) {
	argv := shim.Command(shim.Options{
		Binary: p.o.Shim, Dir: l.Shim, Key: l.Instance, Name: l.Name, Headless: true, Input: l.Input,
		LogMax: l.LogMax, MemoryMax: l.MemoryMax, Cgroup: l.Cgroup, Bounded: len(l.Boundary) > 0,
	})
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it must outlive every context of ours
	cmd.Dir, cmd.Env = "/", []string{"LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return shim.ID{}, fmt.Errorf("cannot start the shim: %w", err)
	}
	id := shim.ID{PID: cmd.Process.Pid}
	if stat, err := p.procs.Stat(id.PID); err == nil {
		id.Start = stat.ID.Start
	}
	go func() { _ = cmd.Wait() }()
	return id, nil
}

// rollBack ends a launch that failed with cause. When the agent was started
// after all, that is the answer.
func (p *Provider) rollBack(ctx context.Context, l session.Launch, id shim.ID, cause error) (shim.Started, error) {
	err := shim.Void(l.Shim)
	switch {
	case err == nil && p.alive(id): // it will find the claim taken, some time
		return shim.Started{}, fmt.Errorf("%w: %w", session.ErrSpent, cause)
	case err == nil:
		return shim.Started{}, errors.Join(cause, shim.Clear(l.Shim))
	case !errors.Is(err, fs.ErrExist):
		return shim.Started{}, fmt.Errorf("%w: %w: %w", session.ErrInDoubt, cause, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, err := shim.Await(ctx, l.Shim, id, p.alive)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, shim.ErrFailed):
		return s, errors.Join(err, shim.Clear(l.Shim))
	}
	return s, fmt.Errorf("%w: %w: %w", session.ErrInDoubt, cause, err)
}

// Close ends the life of a headless agent's place: an agent that still runs gets
// SIGHUP, a shim that waits for descendants leaves. See session.Provider.
func (p *Provider) Close(_ context.Context, id fleet.PaneID) error {
	s, x, err := p.read(id)
	switch {
	case errors.Is(err, session.ErrGone):
		return nil
	case err != nil:
		return fmt.Errorf("cannot close %s: %w", id.Pane, err)
	}
	sig := syscall.SIGHUP
	if x != nil {
		sig = syscall.SIGTERM
	}
	h, err := proc.Open(proc.ID(s.Shim))
	if err == nil {
		err = h.Signal(sig)
		h.Close()
	}
	if err != nil && !errors.Is(err, proc.ErrGone) {
		return fmt.Errorf("cannot close %s: %w", id.Pane, err)
	}
	if err := files.Write(p.closedFile(id.Pane), nil, 0o600); err != nil {
		return fmt.Errorf("cannot close %s: %w", id.Pane, err)
	}
	return nil
}

func (p *Provider) closedFile(instance string) string {
	return filepath.Join(shim.Dir(p.o.Root, instance), "closed")
}

func (p *Provider) isClosed(instance string) bool {
	_, err := os.Lstat(p.closedFile(instance))
	return err == nil
}

// read returns the records of a pane, ErrGone when it is another one's, or
// closed.
func (p *Provider) read(id fleet.PaneID) (shim.Started, *shim.Exit, error) {
	if id.Socket != fleet.Path(p.o.Root) || !shim.IsKey(id.Pane) {
		return shim.Started{}, nil, fmt.Errorf("it is of %s, not of %s", id.Socket, fleet.Path(p.o.Root))
	}
	s, x, err := shim.Read(shim.Dir(p.o.Root, id.Pane))
	if errors.Is(err, shim.ErrNotStarted) || errors.Is(err, shim.ErrFailed) || err == nil && (p.id(s) != id || p.isClosed(id.Pane)) {
		return s, nil, session.ErrGone
	}
	return s, x, err
}

func (p *Provider) id(s shim.Started) fleet.PaneID {
	server, root := p.process(s.Shim), p.process(s.Agent)
	server.Boot, root.Boot = s.At.Boot, s.At.Boot
	return fleet.PaneID{Socket: fleet.Path(p.o.Root), Server: server, Pane: s.Key, Root: root}
}

func (p *Provider) process(id shim.ID) fleet.ProcessID {
	return fleet.ProcessID{PID: id.PID, Start: id.Start, Boot: p.o.Boot}
}

func (p *Provider) alive(id shim.ID) bool {
	s, err := p.procs.Stat(id.PID)
	return err == nil && s.ID.Start == id.Start && s.State != "Z" && s.State != "X"
}

// Panes lists the headless agents of this boot that were not closed, the ended
// ones too, by name. See session.Viewer.
func (p *Provider) Panes(ctx context.Context) ([]fleet.Pane, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	records, err := shim.List(p.o.Root)
	if err != nil {
		return nil, err
	}
	var panes []fleet.Pane
	var errs []error
	for _, r := range records {
		switch {
		case errors.Is(r.Err, shim.ErrNotStarted) || errors.Is(r.Err, shim.ErrFailed):
		case r.Err != nil:
			errs = append(errs, r.Err)
		case r.Started.Headless && r.Started.At.Boot == p.o.Boot && !p.isClosed(r.Started.Key):
			panes = append(panes, p.pane(r))
		}
	}
	slices.SortStableFunc(panes, func(a, b fleet.Pane) int { return strings.Compare(a.Session, b.Session) })
	if len(panes) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("no headless agent: %w", session.ErrAbsent)
	}
	return panes, errors.Join(errs...)
}

func (p *Provider) pane(r shim.Record) fleet.Pane {
	s := r.Started
	pane := fleet.Pane{
		ID: p.id(s), Session: fleet.Line(s.Name, 200), SessionID: s.Key, Window: "agent",
		ExitStatus: fleet.Unknown[int]("the agent has not ended"), ExitSignal: fleet.Unknown[int]("the agent has not ended"),
		Age:      fleet.Known(fleet.Duration(max(0, p.o.Now().Sub(s.At.Wall)))),
		Activity: p.activity(r.Dir),
	}
	if stat, err := p.procs.Stat(s.Agent.PID); err == nil && p.alive(s.Agent) {
		pane.Command = fleet.Line(stat.Comm, 64)
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.Agent.PID)) // empty: it ended, or it is another user's
		pane.CWD = fleet.Path(cwd)
		return pane
	}
	pane.Dead = true
	pane.ExitStatus, pane.ExitSignal = ended(r.Exit)
	return pane
}

// ended tells how an agent ended, as far as its shim has written it.
func ended(x *shim.Exit) (status, signal fleet.Leaf[int]) {
	switch {
	case x == nil:
		return fleet.Unknown[int]("its shim has not written it"), fleet.Unknown[int]("its shim has not written it")
	case x.Status != nil:
		return fleet.Known(*x.Status), fleet.Unknown[int]("it was not ended by a signal")
	}
	return fleet.Unknown[int]("it was ended by a signal"), fleet.Known(*x.Signal)
}

func (p *Provider) activity(dir string) fleet.Leaf[fleet.Duration] {
	info, err := os.Stat(filepath.Join(dir, "stdout.log"))
	if err != nil {
		return fleet.Unknown[fleet.Duration]("its log cannot be read")
	}
	return fleet.Known(fleet.Duration(max(0, p.o.Now().Sub(info.ModTime()))))
}

// perLine is how many bytes of a log are read for each line that is asked for.
const perLine = 4096

// Screen returns the last lines that the agent printed. See session.Viewer.
func (p *Provider) Screen(ctx context.Context, id fleet.PaneID, lines int) (string, error) {
	if _, _, err := p.read(id); err != nil {
		return "", fmt.Errorf("cannot read what %s printed: %w", id.Pane, err)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	lines = max(0, lines)
	raw, err := shim.Tail(shim.Dir(p.o.Root, id.Pane), min(int64(lines)*perLine, 1<<20))
	if err != nil {
		return "", err
	}
	all := strings.Split(strings.TrimRight(fleet.Text(string(raw)), " \n\t"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n"), nil
}
