package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) grantCommand() *cobra.Command {
	o := api.GrantOrder{For: "1h"}
	c := &cobra.Command{
		Use: "grant AGENT RULE", Short: "Let an agent do what a rule of its policy denies, for a while or once",
		Long: `grant has one rule of its policy not count for an agent: for as long as --for says, or with --once for one call within
that time. All else goes on counting. Only a person grants; it is on record, and ends with the agent's instance.`,
		Example: "  custos grant builder push-default --once\n  custos grant builder sudo --for 30m --why 'installs the compiler'",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := config.Duration(o.For)
			if err != nil {
				return usage("cannot read --for: %v", err)
			}
			order := o
			order.Agent, order.Rule, order.For = args[0], args[1], d.String()
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Granted, error) { return c.Grant(ctx, order) }, writeGranted)
		},
	}
	c.Flags().BoolVar(&o.Once, "once", false, "for one call")
	c.Flags().StringVar(&o.For, "for", o.For, "the `DURATION`: 30m, 2h; a day at most")
	c.Flags().StringVar(&o.Why, "why", "", "the `REASON`, for the record")
	return c
}

func writeGranted(p *page, v api.Granted) {
	p.line("%s", flat(v.Words()))
	p.line("%s shows what it does with it.", p.command("custos trace "+quote(v.Agent)))
}
