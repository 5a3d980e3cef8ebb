package tmux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/shim"
)

// Launch starts an agent in a session of its own. See session.Provider.
func (p *Provider) Launch(ctx context.Context, l session.Launch) (session.Launched, error) {
	if err := l.Check(); err != nil {
		return session.Launched{}, err
	}
	done, err := p.turns.Take(ctx, l.Shim)
	if err != nil {
		return session.Launched{}, fmt.Errorf("cannot launch %s: %w", l.Name, err)
	}
	defer done()
	got, err := p.again(ctx, l)
	if errors.Is(err, shim.ErrNotStarted) {
		got, err = p.launch(ctx, l)
		p.ring()
	}
	if err != nil {
		return session.Launched{}, fmt.Errorf("cannot launch %s: %w", l.Name, err)
	}
	return got, nil
}

// again answers for an instance that was launched before. ErrNotStarted says
// that it was not.
func (p *Provider) again(ctx context.Context, l session.Launch) (session.Launched, error) {
	s, _, err := shim.Read(l.Shim)
	switch {
	case err == nil:
		return p.launched(ctx, l, s)
	case errors.Is(err, shim.ErrFailed): // an attempt that was cut off before it could clear up
		if _, err := p.tell(ctx, "", "kill-session", "-t", "="+SessionName(l.Name, l.Instance)); errors.Is(err, errStopped) {
			return session.Launched{}, err
		}
		if err := shim.Clear(l.Shim); err != nil {
			return session.Launched{}, err
		}
		return session.Launched{}, shim.ErrNotStarted
	}
	if _, claim := shim.ReadClaim(l.Shim); claim != nil {
		return session.Launched{}, err // no shim has claimed it, or it cannot be read
	}
	ctx, cancel := context.WithTimeout(ctx, p.start)
	defer cancel()
	if s, err = shim.Await(ctx, l.Shim, shim.ID{}, p.alive); err != nil {
		return session.Launched{}, verdict(err)
	}
	return p.launched(ctx, l, s)
}

// verdict turns what the shim's files say into the words of the seam.
func verdict(err error) error {
	switch {
	case errors.Is(err, shim.ErrSpent):
		return fmt.Errorf("%w: %w", session.ErrSpent, err)
	case errors.Is(err, shim.ErrLost), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", session.ErrInDoubt, err)
	}
	return err
}

// A launch whose server ends is tried again on the next one: one that ends takes some
// milliseconds for it, and is connected to until it has. So is one that got no answer,
// from a server that then answers: the machine was busy.
const (
	tries    = 3
	tryAgain = 100 * time.Millisecond
)

// errUnmade says that a launch failed because its server ended or was slow, and is undone whole.
var errUnmade = errors.New("nothing was started")

// launch starts an agent, again where nothing was started for sure for a cause that
// passes. Whatever comes late of a try, the claim of the instance is taken by one shim alone.
func (p *Provider) launch(ctx context.Context, l session.Launch) (session.Launched, error) {
	for try := 1; ; try++ {
		got, err := p.try(ctx, l)
		if !errors.Is(err, errUnmade) || try == tries {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, err
		case <-time.After(time.Duration(try) * tryAgain):
		}
	}
}

func (p *Provider) try(ctx context.Context, l session.Launch) (session.Launched, error) {
	if err := ctx.Err(); err != nil {
		return session.Launched{}, err
	}
	if err := p.stopped(p.socket); err != nil { // nothing was begun yet
		return session.Launched{}, err
	}
	if err := p.prepare(l); err != nil {
		return session.Launched{}, errors.Join(err, shim.Clear(l.Shim))
	}
	p.apart(ctx)
	at, err := p.open(ctx, l)
	var s shim.Started
	if err == nil {
		wait, cancel := context.WithTimeout(ctx, p.start)
		defer cancel()
		server := p.identity(at.serverPID)
		s, err = shim.Await(wait, l.Shim, shim.ID{PID: at.rootPID, Start: p.identity(at.rootPID).Start}, p.alive)
		if errors.Is(err, shim.ErrNoShim) && !p.alive(shim.ID{PID: server.PID, Start: server.Start}) {
			err = fmt.Errorf("%w: the tmux server: %w", err, errLost)
		}
	}
	if err != nil {
		return p.rollBack(context.WithoutCancel(ctx), l, err)
	}
	if at.rootPID != s.Shim.PID {
		return session.Launched{}, fmt.Errorf("%w: the pane's process is %d, the shim's %d", session.ErrInDoubt, at.rootPID, s.Shim.PID)
	}
	return p.result(at, s)
}

func (p *Provider) prepare(l session.Launch) error {
	if err := p.folder(); err != nil {
		return err
	}
	if err := os.MkdirAll(l.Shim, 0o700); err != nil {
		return fmt.Errorf("cannot make the shim's folder: %w", err)
	}
	if err := shim.PrepareBoundary(l.Shim, l.Boundary); err != nil {
		return err
	}
	return shim.Prepare(l.Shim, l.Argv, l.Env, l.Dir)
}

// open makes the session. The options are set every time, because the server
// may have been started a moment ago: a dead pane stays to be looked at; the
// server stays without sessions; no program may write to a person's clipboard;
// no person's environment leaks in when they attach.
func (p *Provider) open(ctx context.Context, l session.Launch) (place, error) {
	args := []string{"start-server", ";", "set-option", "-s", "exit-empty", "off", ";", "set-option", "-s", "set-clipboard", "off",
		";", "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "update-environment", "",
		";", "set-option", "-g", "default-terminal", "screen-256color", ";", "set-option", "-g", "history-limit", "5000",
		";", "new-session", "-d", "-P", "-F", placeFormat, "-s", SessionName(l.Name, l.Instance), "-n", "agent", "-c", "/",
		"-x", strconv.Itoa(cmp.Or(l.Cols, 200)), "-y", strconv.Itoa(cmp.Or(l.Rows, 50)), "--"}
	argv := shim.Command(shim.Options{Binary: p.shim, Dir: l.Shim, Key: l.Instance, Name: l.Name, MemoryMax: l.MemoryMax, Cgroup: l.Cgroup, Bounded: len(l.Boundary) > 0})
	for _, a := range argv {
		args = append(args, literal(a))
	}
	out, err := p.tell(ctx, "", args...)
	if err != nil {
		return place{}, err
	}
	return parsePlace(out)
}

// literal keeps tmux from taking a semicolon at the end of an argument for the
// end of the command.
func literal(arg string) string {
	if head, ok := strings.CutSuffix(arg, ";"); ok {
		return head + `\;`
	}
	return arg
}

// rollBack ends a launch that failed with cause: first it sees to it that no
// shim can come late, then it removes what there is. When the agent was started
// after all, that is the answer.
func (p *Provider) rollBack(ctx context.Context, l session.Launch, cause error) (session.Launched, error) {
	ctx, cancel := context.WithTimeout(ctx, p.deadline+time.Second)
	defer cancel()
	err := shim.Void(l.Shim)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return session.Launched{}, fmt.Errorf("%w: %w: %w", session.ErrInDoubt, cause, err)
	}
	if err != nil && !errors.Is(cause, shim.ErrFailed) { // a shim was first
		s, late := shim.Await(ctx, l.Shim, shim.ID{}, p.alive)
		if late == nil {
			return p.launched(ctx, l, s)
		}
		if !errors.Is(late, shim.ErrFailed) {
			return session.Launched{}, fmt.Errorf("%w: %w", cause, verdict(late))
		}
		cause = late
	}
	_, gone := p.tell(ctx, "", "kill-session", "-t", "="+SessionName(l.Name, l.Instance))
	if errors.Is(gone, errNoAnswer) || errors.Is(gone, errStopped) {
		return session.Launched{}, fmt.Errorf("%w: %w", session.ErrSpent, cause) // the claim must stay
	}
	if err := shim.Clear(l.Shim); err != nil || !isOver(cause) && !errors.Is(cause, errNoAnswer) {
		return session.Launched{}, errors.Join(cause, err)
	}
	return session.Launched{}, fmt.Errorf("%w: %w", errUnmade, cause)
}

// launched finds the pane of an agent that was started.
func (p *Provider) launched(ctx context.Context, l session.Launch, s shim.Started) (session.Launched, error) {
	out, err := p.every(ctx, placeFormat)
	if err != nil {
		return session.Launched{}, fmt.Errorf("%w: it was started, its pane cannot be found: %w", session.ErrInDoubt, err)
	}
	for line := range strings.Lines(out) {
		if at, err := parsePlace(line); err == nil && at.rootPID == s.Shim.PID && s.At.Boot == p.o.Boot {
			return p.result(at, s)
		}
	}
	return session.Launched{}, fmt.Errorf("instance %s was started, its pane is %w", l.Instance, session.ErrGone)
}

func (p *Provider) result(at place, s shim.Started) (session.Launched, error) {
	server, err := p.server(at.serverPID)
	if err != nil {
		return session.Launched{}, fmt.Errorf("%w: tmux server: %w", session.ErrInDoubt, err)
	}
	id := fleet.PaneID{Socket: fleet.Path(p.socket), Server: server, Pane: at.pane, Root: p.process(s.Shim)}
	return session.Launched{Pane: id, Agent: p.process(s.Agent), Shim: p.process(s.Shim), Cap: s.Cap, CapWhy: s.CapWhy}, nil
}
