package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) freezeCommand() *cobra.Command {
	return a.brake(&cobra.Command{
		Use:     "freeze [REASON]",
		Example: "  custos freeze\n  custos freeze 'the disk is being exchanged'",
		Short:   "Stop every action, at once, until custos thaw",
		Long: `freeze puts a file in place that is looked for before every action. A daemon that
answers puts it there, after it has looked who asks; else this command does. So it
works when nothing else does: with a daemon that hangs, a disk that is full, a
database or a custos.toml that cannot be read. Looking and notifying go on.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.freeze(cmd.Context(), strings.Join(args, " "))
			if err != nil {
				return localError(err)
			}
			return a.show(b, func(p *page) {
				p.line("Frozen: Custos acts on nothing until you type %s.", p.command("custos thaw"))
			})
		},
	})
}

func (a *app) freeze(ctx context.Context, why string) (api.Brake, error) {
	c, err := a.config()
	if err != nil {
		return api.Brake{}, err
	}
	b, ok, err := a.askBrake(ctx, func(ctx context.Context, c *api.Client) (api.Brake, error) { return c.Freeze(ctx, why) })
	if ok || ctx.Err() != nil {
		return b, err
	}
	return api.Brake{Frozen: true, By: a.user(), Why: why}, a.Daemon.Freeze(c, a.user(), why)
}

// user is who types, for the record: by the kernel and the password file, as a daemon
// finds it, and not by what the environment says.
func (a *app) user() string {
	return flat(me())
}
