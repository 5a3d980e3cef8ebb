package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// leave is how long down waits for the daemon to be gone.
const leave = 10 * time.Second

func (a *app) downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the daemon; every agent runs on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.config(); err != nil {
				return err
			}
			c, err := a.dial(cmd.Context())
			if err != nil {
				return usage("cannot stop the daemon: none is running")
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

// gone waits until nobody answers at the socket any more.
func (a *app) gone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leave)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := a.dial(ctx)
		if err != nil && ctx.Err() == nil {
			return nil
		}
		if err == nil {
			c.Close()
		}
		select {
		case <-ctx.Done():
			return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("cannot tell that the daemon is down: it still answers after %s", leave), Hint: "custos status"}
		case <-tick.C:
		}
	}
}
