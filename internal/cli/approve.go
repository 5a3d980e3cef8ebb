package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// approving is how long approved actions are waited for where no daemon runs.
const approving = 10 * time.Minute

func (a *app) approveCommand() *cobra.Command {
	var order api.ApproveOrder
	c := &cobra.Command{
		Use:   "approve NUMBER",
		Short: "Have done what one alert asks for, and nothing else",
		Long: `approve has the actions done that one alert leads to and that wait for a person:
custos plan and custos why NUMBER show them. Each guard but the person's word
holds as ever. Where code is to be trusted, --digest says which: that of custos
trust DIR, which shows it; what came later is not trusted.
To leave it undone instead, take the alert up: custos ack NUMBER.
An agent's question is answered with custos answer.`,
		Example: "  custos approve 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := alertNumber("approve", args[0])
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, approving, func(ctx context.Context, c *api.Client) (api.Approved, error) { return c.Approve(ctx, n, order) }, writeApproved)
		},
	}
	c.Flags().StringVar(&order.By, "by", "", "your `NAME` (default: the user's)")
	c.Flags().StringVar(&order.Digest, "digest", "", "the `DIGEST` of the code that you were shown, where code is to be trusted")
	return c
}

func writeApproved(p *page, v api.Approved) {
	p.line("Approved by %s, and begun:", flat(v.By))
	for _, act := range v.Actions {
		p.line("  %s  %s", flat(act.Do), p.subject(act.Subject))
	}
	p.line("%s shows what comes of it.", p.command("custos why "+strconv.FormatInt(v.Number, 10)))
}
