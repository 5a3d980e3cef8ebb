package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/session"
)

var _ session.Announcer = (*Provider)(nil)

// How long it takes until a server that was lost is tried again. A launch of ours
// rings at once, so these are for what others do to the server.
const (
	soonest = time.Second
	latest  = 30 * time.Second
)

// What is said of the server itself.
const (
	saidHere   = "the tmux server answers"
	saidGone   = "the tmux server is gone"
	saidSilent = "the tmux server does not answer"
	saidLost   = "the tmux server hung up"
)

// Announce listens to the server in control mode. See session.Announcer. It
// starts no server; while there is none it costs a look at the socket now and then.
func (p *Provider) Announce(ctx context.Context, tell func(session.Notice)) error {
	said := saidGone
	say := func(what string) {
		if what != said {
			said = what
			tell(session.Notice{What: what})
		}
	}
	for wait := soonest; ; wait = min(2*wait, latest) {
		met, err := p.attend(ctx, func() { say(saidHere) }, tell)
		if ctx.Err() != nil {
			return nil
		}
		say(loss(err))
		if met || errors.Is(err, errStopped) { // one look at a process is cheap
			wait = soonest
		}
		if p.rest(ctx, wait) {
			wait = soonest / 2 // it is doubled
		}
	}
}

// loss says in words why the server is not listened to.
func loss(err error) string {
	switch {
	case errors.Is(err, session.ErrAbsent):
		return saidGone
	case errors.Is(err, errNoAnswer), errors.Is(err, errStopped):
		return saidSilent
	}
	return saidLost
}

// rest waits; it returns true when something was announced meanwhile.
func (p *Provider) rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.bell:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// ring says that the server is there now.
func (p *Provider) ring() {
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// attend listens until the server is lost. It returns whether it had been met,
// and session.ErrAbsent when it is not there.
func (p *Provider) attend(ctx context.Context, here func(), tell func(session.Notice)) (met bool, err error) {
	if err := p.answers(ctx); err != nil {
		return false, err
	}
	program, err := p.program()
	if err != nil {
		return false, fmt.Errorf("cannot listen to tmux server %s: %w", fleet.Path(p.socket), err)
	}
	c, err := dial(program, p.socket, p.deadline, p.asking)
	if err != nil {
		return false, err
	}
	defer c.hangUp()
	if err = c.greet(ctx); err == nil {
		met = true
		here()
		c.shots = p.shots
		p.listened.Store(true)
		defer p.listened.Store(false)
		err = c.follow(ctx, tell)
	}
	if err != nil && ctx.Err() == nil && isGone(p.socket) {
		err = session.ErrAbsent
	}
	return met, err
}

// answers says what keeps the server from being attached to: it answers a client that
// asks and goes, or it is not there. Two clients in control mode that wait in a server
// that does not answer may end it when it does again.
func (p *Provider) answers(ctx context.Context) error {
	if _, err := os.Lstat(p.socket); err != nil {
		return session.ErrAbsent // however the server is asked: nothing has to be
	}
	if _, err := p.tell(ctx, "", "list-sessions", "-F", ""); err != nil && !errors.Is(err, errRefused) {
		return err
	}
	return nil
}

// meaning says in words what a notification tells; "" for those that no look
// would find anything of: layouts, modes, buffers.
func meaning(line string) string {
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "%sessions-changed":
		return "a session came or went"
	case "%session-renamed":
		return "a session has another name"
	case "%window-add", "%unlinked-window-add":
		return "a window came"
	case "%window-close", "%unlinked-window-close":
		return "a window went"
	case "%window-renamed", "%unlinked-window-renamed":
		return "a window has another name"
	case "%client-session-changed", "%client-detached":
		return "a person came or left"
	}
	return ""
}
