package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) ackCommand() *cobra.Command {
	var by string
	c := &cobra.Command{
		Use:     "ack NUMBER",
		Short:   "Say that you have taken up an alert",
		Example: "  custos ack 3\n  custos ack 3 --by Ann",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := alertNumber("acknowledge", args[0])
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Alert, error) {
				return c.Acknowledge(ctx, n, api.AckOrder{By: by})
			}, func(p *page, al api.Alert) {
				p.line("Alert #%d is taken up by %s: %s %s", al.Number, flat(al.AckedBy), flat(al.Rule), p.subject(al.Subject))
				p.next(al.Next)
			})
		},
	}
	c.Flags().StringVar(&by, "by", "", "your `NAME` (default: the user's)")
	return c
}
