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
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the daemon; every agent runs on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.config(); err != nil {
				return err
			}
			c, err := a.reach(cmd.Context())
			if err != nil {
				return a.noDaemon()
			}
			err = c.Down(cmd.Context())
			c.Close()
			if err != nil {
				return err
			}
			if err := a.gone(cmd.Context()); err != nil {
				return err
			}
			return a.show(map[string]bool{"down": true}, func(p *page) { p.line("The daemon is down. Every agent runs on.") })
		},
	}
}

// noDaemon says why there is none to stop.
func (a *app) noDaemon() error {
	if a.runs() {
		return &api.Error{Kind: api.Unreachable, Message: "cannot stop the daemon: one runs, and does not answer"}
	}
	return usage("cannot stop the daemon: none is running")
}

// gone waits until nobody answers at the socket any more, and until the lock is
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
			return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot tell that the daemon is down: it is still there after %s", waited.Round(time.Second)), Hint: "custos status"}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
