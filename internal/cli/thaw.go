package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) thawCommand() *cobra.Command {
	return a.brake(&cobra.Command{
		Use:     "thaw",
		Example: "  custos thaw",
		Short:   "Let Custos act again after custos freeze",
		Long: `thaw removes the file that freeze has put in place. It takes a person: a daemon
that answers looks who asks; without one, this process is refused when it is known
to be an agent's.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.thaw(cmd.Context())
			if err != nil {
				return localError(err)
			}
			return a.show(b, func(p *page) {
				if b.Was == "" {
					p.line("Custos was not frozen.")
					return
				}
				p.line("Thawed. It was frozen by %s", flat(b.Was))
			})
		},
	})
}

// thaw lets Custos act again. The daemon may have done it and died before it could say
// so: who had frozen it is read before it is asked.
func (a *app) thaw(ctx context.Context) (api.Brake, error) {
	c, err := a.config()
	if err != nil {
		return api.Brake{}, err
	}
	before := a.Daemon.Frozen(c)
	b, ok, err := a.askBrake(ctx, func(ctx context.Context, c *api.Client) (api.Brake, error) { return c.Thaw(ctx) })
	if ok || ctx.Err() != nil {
		return b, err
	}
	was, err := a.Daemon.Thaw(c)
	return api.Brake{Was: cmp.Or(was, before)}, err
}
