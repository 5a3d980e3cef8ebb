package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) silenceCommand() *cobra.Command {
	var o api.SilenceOrder
	c := &cobra.Command{
		Use:   "silence RULE | KIND/NAME | RULE KIND/NAME",
		Short: "Send no messages about alerts for a while",
		Long: `silence holds back messages about alerts of a rule, of a subject, or of that rule on
that subject, for a while. They are still found, mended and written down.`,
		Example: "  custos silence worktree-stale --for 1d\n  custos silence agent/builder --for 2h --why 'being rebuilt'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if strings.Contains(arg, "/") {
					o.Subject = arg
				} else {
					o.Rule = arg
				}
			}
			d, err := config.Duration(o.For)
			if err != nil {
				return usage("cannot read --for: %v", err)
			}
			order := o
			order.For = d.String()
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Silenced, error) { return c.Silence(ctx, order) }, func(p *page, s api.Silenced) {
				p.line("Silenced until %s UTC: %s", s.Until.UTC().Format("2006-01-02 15:04"), strings.TrimSpace(flat(s.Rule)+" "+p.subject(s.Subject)))
				if s.Note != "" {
					p.line("Note: %s.", flat(s.Note))
				}
			})
		},
	}
	c.Flags().StringVar(&o.For, "for", (2 * time.Hour).String(), "the `DURATION`: 30m, 2h, 1d")
	c.Flags().StringVar(&o.Why, "why", "", "the `REASON`, for the record")
	c.Flags().StringVar(&o.By, "by", "", "your `NAME` (default: the user's)")
	return c
}
