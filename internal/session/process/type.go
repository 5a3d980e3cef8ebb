package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"

	"golang.org/x/sys/unix"
)

// Type writes a text to the agent's input. There is no terminal, hence no paste
// and no keys but these: Enter is a newline, C-c SIGINT to the agent's process
// group, C-d the end of its input; letters, digits, Tab and Space are written.
// See session.Provider.
func (p *Provider) Type(ctx context.Context, id fleet.PaneID, in session.Input) error {
	err := in.Check()
	var s shim.Started
	if err == nil {
		s, err = p.reachable(id, in.Agent)
	}
	if err == nil {
		err = p.give(ctx, s, in)
	}
	if err != nil {
		return fmt.Errorf("cannot type to %s: %w", id.Pane, err)
	}
	return nil
}

// reachable checks that the agent is that very one, and alive.
func (p *Provider) reachable(id fleet.PaneID, agent fleet.ProcessID) (shim.Started, error) {
	s, x, err := p.read(id)
	if err != nil {
		return s, err
	}
	if x != nil || s.At.Boot != p.o.Boot || !p.alive(s.Agent) {
		return s, fmt.Errorf("its agent has ended: %w", session.ErrGone)
	}
	if agent != (fleet.ProcessID{}) && agent != p.process(s.Agent) {
		return s, fmt.Errorf("its agent is another: %w", session.ErrGone)
	}
	return s, nil
}

func (p *Provider) give(ctx context.Context, s shim.Started, in session.Input) error {
	if in.Key == session.KeyInterrupt {
		return p.interrupt(s)
	}
	if !s.Input {
		return errors.New("it was launched without an input")
	}
	text := session.Typed(in.Text)
	switch in.Key {
	case "":
	case session.KeyEnter:
		text = "\n"
	case "Tab":
		text = "\t"
	case "Space":
		text = " "
	case session.KeyEnd:
		return signal(s.Shim, syscall.SIGUSR1)
	default:
		if len(in.Key) != 1 {
			return fmt.Errorf("a headless agent has no key %q", in.Key)
		}
		text = string(in.Key)
	}
	return p.write(ctx, filepath.Join(shim.Dir(p.o.Root, s.Key), "stdin"), text)
}

// interrupt signals the process group. The agent leads it, so it exists while
// the agent is held.
func (p *Provider) interrupt(s shim.Started) error {
	h, err := proc.Open(proc.ID(s.Agent))
	if errors.Is(err, proc.ErrGone) {
		return session.ErrGone
	}
	if err != nil {
		return err
	}
	defer h.Close()
	if err := unix.Kill(-s.PGID, unix.SIGINT); err != nil {
		return fmt.Errorf("cannot interrupt process group %d: %w", s.PGID, err)
	}
	return nil
}

func signal(id shim.ID, sig syscall.Signal) error {
	h, err := proc.Open(proc.ID(id))
	if err == nil {
		defer h.Close()
		err = h.Signal(sig)
	}
	if errors.Is(err, proc.ErrGone) {
		return fmt.Errorf("its shim is gone: %w", session.ErrGone)
	}
	return err
}

// write writes to the FIFO and does not wait for the agent to read, unless the
// FIFO is full. What did not fit before the deadline is lost: in doubt.
func (p *Provider) write(ctx context.Context, path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no process reads its input: %w", session.ErrGone)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		return fmt.Errorf("%s is no FIFO", path)
	}
	deadline := time.Now().Add(p.deadline)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := errors.Join(ctx.Err(), f.SetWriteDeadline(deadline)); err != nil {
		return err
	}
	n, err := f.WriteString(text)
	switch {
	case err == nil:
		return nil
	case n == 0 && errors.Is(err, unix.EPIPE):
		return fmt.Errorf("no process reads its input: %w", session.ErrGone)
	case n == 0:
		return fmt.Errorf("its input is full: %w", err)
	}
	return fmt.Errorf("%w: %d of %d bytes were taken: %w", session.ErrInDoubt, n, len(text), err)
}
