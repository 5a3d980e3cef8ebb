package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/shim"
)

// Type pastes a text or presses a key. See session.Provider.
//
// It asks twice: first who is there, which a frozen server does not answer, so
// that nothing is done; then it types, in one command with the same question, so
// that nothing can come between the two.
func (p *Provider) Type(ctx context.Context, id fleet.PaneID, in session.Input) error {
	err := in.Check()
	if err == nil {
		err = p.ours(id)
	}
	var scrolled bool
	if err == nil {
		scrolled, err = p.ready(ctx, id, in.Agent)
	}
	if err != nil {
		return fmt.Errorf("cannot type into pane %s: %w", id.Pane, err)
	}
	if in.Text != "" {
		err = p.paste(ctx, id, session.Typed(in.Text), scrolled)
	} else {
		err = p.act(ctx, id, press(id.Pane, in.Key), scrolled)
	}
	if err != nil {
		return fmt.Errorf("cannot type into pane %s: %w", id.Pane, err)
	}
	return nil
}

func (p *Provider) ours(id fleet.PaneID) error {
	if fleet.RawPath(id.Socket) != p.socket || !isPane(id.Pane) {
		return fmt.Errorf("it is of server %s, not of %s", id.Socket, fleet.Path(p.socket))
	}
	return nil
}

// ready checks that the pane is that very pane and that the agent is in it. It
// says whether a person left it scrolled back; one who is doing so just now
// is ErrBusy.
func (p *Provider) ready(ctx context.Context, id fleet.PaneID, agent fleet.ProcessID) (scrolled bool, err error) {
	out, err := p.tell(ctx, "", "display-message", "-p", "-t", id.Pane, placeFormat+" #{pane_dead} #{pane_in_mode} #{pane_tty}",
		";", "list-clients", "-t", id.Pane, "-F", "#{client_control_mode}")
	if err != nil {
		return false, p.missing(id, err)
	}
	head, clients, _ := strings.Cut(out, "\n")
	f := strings.Fields(head)
	if len(f) != 6 {
		return false, fmt.Errorf("cannot use what tmux says: %q", fleet.Line(head, 100))
	}
	at, err := parsePlace(strings.Join(f[:3], " "))
	if err != nil {
		return false, err
	}
	if p.identity(at.serverPID) != id.Server || p.identity(at.rootPID) != id.Root || f[3] == "1" {
		return false, session.ErrGone
	}
	if err := p.inside(agent, f[5]); err != nil {
		return false, err
	}
	if scrolled = f[4] != "0"; scrolled && strings.Contains(clients, "0") {
		return true, fmt.Errorf("a person scrolls back in it: %w", session.ErrBusy)
	}
	return scrolled, nil
}

// missing tells a pane that is not there from a server that does not answer. One that ended
// is gone with its panes; when it is another's that ended, nothing was done.
func (p *Provider) missing(id fleet.PaneID, err error) error {
	if notFound(err) || errors.Is(err, errLost) && !p.alive(shim.ID{PID: id.Server.PID, Start: id.Server.Start}) {
		return fmt.Errorf("%w: %w", session.ErrGone, err)
	}
	return err
}

func notFound(err error) bool {
	return errors.Is(err, session.ErrAbsent) || errors.Is(err, errRefused) && strings.Contains(err.Error(), "can't find")
}

// inside checks that the agent lives, and on this pane's terminal.
func (p *Provider) inside(agent fleet.ProcessID, tty string) error {
	if agent == (fleet.ProcessID{}) {
		return nil
	}
	s, err := p.procs.Stat(agent.PID)
	if err != nil || s.ID.Start != agent.Start || agent.Boot != p.o.Boot || s.State == "Z" || s.State == "X" {
		return fmt.Errorf("agent %d has ended: %w", agent.PID, session.ErrGone)
	}
	if "/dev/"+s.TTY != tty {
		return fmt.Errorf("agent %d is on terminal %q, the pane is %q: %w", agent.PID, s.TTY, tty, session.ErrGone)
	}
	return nil
}

// paste loads a text into a buffer of its own, and pastes that: in brackets
// where the program asks for them (-p), and with newlines as they are (-r).
func (p *Provider) paste(ctx context.Context, id fleet.PaneID, text string, scrolled bool) error {
	buffer := "custos-" + nonce()
	if _, err := p.tell(ctx, text, "load-buffer", "-b", buffer, "-"); err != nil {
		return p.missing(id, err)
	}
	err := p.act(ctx, id, "paste-buffer -d -p -r -b "+buffer+" -t "+id.Pane, scrolled)
	if errors.Is(err, session.ErrGone) {
		_, _ = p.tell(context.WithoutCancel(ctx), "", "delete-buffer", "-b", buffer)
	}
	return err
}

// press is the command that presses a key; keys of one letter are typed.
func press(pane string, key session.Key) string {
	if len(key) == 1 {
		return "send-keys -l -t " + pane + " " + string(key)
	}
	return "send-keys -t " + pane + " " + string(key)
}

// act executes a command if the pane still is that very pane, as the server
// itself sees it at that instant.
func (p *Provider) act(ctx context.Context, id fleet.PaneID, command string, scrolled bool) error {
	still := fmt.Sprintf("#{&&:#{&&:#{==:#{pid},%d},#{==:#{pane_pid},%d}},#{!=:#{pane_dead},1}}", id.Server.PID, id.Root.PID)
	if scrolled {
		command = "copy-mode -q -t " + id.Pane + " ; " + command
	} else {
		still = "#{&&:" + still + ",#{==:#{pane_in_mode},0}}"
	}
	out, err := p.tell(ctx, "", "if-shell", "-F", "-t", id.Pane, still, command+" ; display-message -p done", "display-message -p other")
	switch {
	case errors.Is(err, errNoAnswer):
		return fmt.Errorf("%w: %w", session.ErrInDoubt, err)
	case err != nil:
		return p.missing(id, err)
	case out != "done":
		return session.ErrGone
	}
	return nil
}

// Close removes a pane. See session.Provider.
func (p *Provider) Close(ctx context.Context, id fleet.PaneID) error {
	if err := p.ours(id); err != nil {
		return fmt.Errorf("cannot close pane %s: %w", id.Pane, err)
	}
	if p.identity(id.Server.PID) != id.Server {
		return nil // that server is gone, and its panes with it
	}
	same := fmt.Sprintf("#{&&:#{==:#{pid},%d},#{==:#{pane_pid},%d}}", id.Server.PID, id.Root.PID)
	_, err := p.tell(ctx, "", "if-shell", "-F", "-t", id.Pane, same, "kill-pane -t "+id.Pane)
	switch {
	case errors.Is(err, errNoAnswer):
		return fmt.Errorf("cannot close pane %s: %w: %w", id.Pane, session.ErrInDoubt, err)
	case err != nil && !errors.Is(p.missing(id, err), session.ErrGone):
		return fmt.Errorf("cannot close pane %s: %w", id.Pane, err)
	}
	return nil
}
