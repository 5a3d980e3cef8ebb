package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) triggerCommand() *cobra.Command {
	var r api.TriggerRequest
	c := &cobra.Command{
		Use: "trigger NAME", Short: "Report that something happened: what waits for trigger:NAME goes on",
		Long: `trigger writes down that something happened outside of Custos. Gates of type event, and
schedules, wait for it by --on trigger:NAME. An agent may report, too. With --text - the
text is read from standard input; 4 KiB of it are kept.`,
		Example: "  custos trigger deployed --text 'shop 1.2 on production'\n  custos gate add event 'It is deployed' --on trigger:deployed",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOf(r.Text)
			if err != nil {
				return err
			}
			r := r
			r.Name, r.Text = args[0], text
			r.Key = keyOr(r.Key)
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Trigger, error) { return c.Trigger(ctx, r) },
				func(p *page, t api.Trigger) { p.line("%s: %s", flat(t.ID), flat(t.Name)) })
		},
	}
	c.Flags().StringVar(&r.Text, "text", "", "a `TEXT` that is kept with it; - reads standard input")
	c.Flags().StringVar(&r.Key, "key", "", "a `KEY` of yours: the same one again is the same event")
	return c
}
