package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// leave is how long down waits for the daemon to stop answering; finish is how
// long it waits for what the daemon had begun, which its deadlines bound.
const (
	leave  = 10 * time.Second
	finish = 3 * time.Minute
)

func (a *app) downCommand() *cobra.Command {
	return a.brake(&cobra.Command{
		Use:     "down",
		Example: "  custos down",
		Short:   "Stop the daemon; every agent runs on",
		Long: `down asks the daemon to end, and waits until it has finished what it had begun. One
that does not answer within 5 seconds is ended by a signal, and killed when it does not
end: what it had begun is in doubt then, and the next one says so. Either way every
agent runs on. Interrupted, down says what the daemon was asked: nothing takes that
back.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.config(); err != nil {
				return err
			}
			how, err := a.down(cmd.Context())
			if err != nil {
				return err
			}
			at := a.progress("waiting until the daemon has finished what it began")
			err = a.gone(cmd.Context())
			at.end()
			if err != nil {
				if cmd.Context().Err() != nil {
					return stillGoing("was asked to go down, and goes down")
				}
				return err
			}
			return a.show(map[string]any{"down": true, "how": how}, func(p *page) {
				p.line("The daemon is down%s. Every agent runs on.", flat(how))
			})
		},
	})
}

// down has the daemon end: by asking it, else by a signal.
func (a *app) down(ctx context.Context) (how string, err error) {
	if c, err := a.reach(ctx); err == nil {
		defer c.Close()
		err := c.Down(ctx)
		switch {
		case err != nil && ctx.Err() != nil && isLost(err):
			return "", stillGoing("may have been asked to go down: if it was, it goes down")
		case err != nil && ctx.Err() != nil:
			return "", askedNothing()
		case !isLost(err):
			return "", err
		}
		if a.mute == "" {
			return "", nil // it may have gone before it could answer: whether it has is looked for
		}
	}
	conf, err := a.config()
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", askedNothing()
	case !a.runs() && a.untold() != "":
		return "", &api.Error{Kind: api.CannotLook, Message: "cannot stop the daemon: " + a.untold(), Hint: "custos doctor structure"}
	case !a.runs():
		return "", usage("cannot stop the daemon: none is running")
	case a.Daemon.End == nil:
		return "", &api.Error{Kind: api.Unreachable, Message: "cannot stop the daemon: one runs, and does not answer"}
	}
	at := a.progress("ending the daemon")
	how, err = a.Daemon.End(ctx, conf)
	at.end()
	if err != nil {
		return "", localError(err)
	}
	return ": " + how, nil
}

// stillGoing says what becomes of a daemon whose end is not waited for any more.
func stillGoing(what string) error {
	return &api.Error{Kind: api.CannotLook, Hint: "custos health",
		Message: "interrupted: the daemon " + what + " when it has finished what it had begun; every agent runs on"}
}

// askedNothing says that an interrupted down has done nothing.
func askedNothing() error {
	return &api.Error{Kind: api.CannotLook, Hint: "custos health", Message: "interrupted: the daemon was asked nothing, and goes on"}
}

// gone waits until nothing answers at the socket any more, and until the lock is
// free: then another daemon may be started. What the daemon had begun to do is
// finished first.
func (a *app) gone(ctx context.Context) error {
	begun := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := a.dial(ctx)
		answers, waited := err == nil, time.Since(begun)
		if answers {
			c.Close()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !answers && !a.runs():
			return nil
		case answers && waited > leave, waited > finish:
			return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("the daemon is not down: it is still there after %s", waited.Round(time.Second)), Hint: "custos status"}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
