package cli

import (
	"context"
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// brake marks a command that must work when everything else is broken: it goes on
// with what is left of a configuration that cannot be used, aloud.
func (a *app) brake(c *cobra.Command) *cobra.Command {
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.brakes = true
		return run(cmd, args)
	}
	return c
}

func isMistake(err error) bool {
	var m *config.Mistake
	return errors.As(err, &m)
}

// salvage is the configuration to go on with after one that cannot be used.
func (a *app) salvage(o config.Options, cause error) (config.Config, error) {
	left, err := config.Salvage(o)
	if err != nil {
		return left, cause
	}
	a.complain(cause.Error(), "custos config check")
	a.complain("this goes on with the folders that the file names, and the default of everything else", "")
	return left, nil
}

// local is Custos in this process; for a brake it goes without a configuration that
// only its parts find out to be wrong.
func (a *app) local(ctx context.Context, conf config.Config) (http.Handler, func() error, error) {
	h, closer, err := a.Daemon.Local(ctx, conf)
	if !a.brakes || !isMistake(err) || len(conf.Text) == 0 {
		return h, closer, err
	}
	left, err := a.salvage(a.options(), err)
	if err != nil {
		return nil, nil, err
	}
	a.conf = &left
	return a.Daemon.Local(ctx, left)
}

// answered says whether an error, or none, is the answer of the daemon, which stands; or
// there was no answer, and another way is to be tried.
func answered(err error) bool {
	return err == nil || isKind(err, api.Forbidden, api.Unseen, api.BadInput)
}

// askBrake has the daemon pull a brake, where one answers in time. ok is false
// when it is for this process to do.
func (a *app) askBrake(ctx context.Context, pull func(context.Context, *api.Client) (api.Brake, error)) (b api.Brake, ok bool, err error) {
	c, err := a.reach(ctx)
	if err != nil {
		return b, false, ctx.Err()
	}
	defer c.Close()
	within, cancel := context.WithTimeout(ctx, feel)
	defer cancel()
	b, err = pull(within, c)
	return b, answered(err), err
}
