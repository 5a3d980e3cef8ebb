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
trust DIR, which shows it; what came later is not trusted. So it is with an item of
a vault: custos why NUMBER shows where it lies, and its digest.
To leave it undone instead, take the alert up: custos ack NUMBER; what can be denied
takes custos deny NUMBER.
An order of a person at another host that waits is shown by custos orders show ID.
An agent's question is answered with custos answer.`,
		Example: "  custos approve 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := alertNumber("approve", args[0])
			if err != nil {
				return err
			}
			var done api.Approved
			err = say(cmd.Context(), a, approving, func(ctx context.Context, c *api.Client) (_ api.Approved, err error) {
				done, err = c.Approve(ctx, n, order)
				return done, err
			}, writeApproved)
			if err != nil || done.Order == nil {
				return err
			}
			return letDone(*done.Order)
		},
	}
	answers(c, &order)
	return c
}

func (a *app) denyCommand() *cobra.Command {
	var order api.ApproveOrder
	c := &cobra.Command{
		Use:   "deny NUMBER",
		Short: "Have done what is done instead of what one alert asks for",
		Long: `deny says no to what one alert asks for, where something is done instead: an item of
a vault is moved to rejected. --digest says which item you were shown: custos why
NUMBER shows it. Where nothing is done instead, take the alert up: custos ack NUMBER.`,
		Example: "  custos deny 3 --digest 1f0c3a5b7d90",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := alertNumber("deny", args[0])
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, approving, func(ctx context.Context, c *api.Client) (api.Approved, error) { return c.Deny(ctx, n, order) }, writeDenied)
		},
	}
	answers(c, &order)
	return c
}

// answers adds the flags of who answers, and what they were shown.
func answers(c *cobra.Command, order *api.ApproveOrder) {
	c.Flags().StringVar(&order.By, "by", "", "your `NAME` (default: the user's)")
	c.Flags().StringVar(&order.Digest, "digest", "", "the `DIGEST` of the code, or the item of a vault, that you were shown")
}

func writeDenied(p *page, v api.Approved) {
	if v.Order != nil {
		p.line("Denied by %s. Nothing of it is done.", flat(v.By))
		return
	}
	writeBegun(p, v, "Denied by %s, and begun instead:")
}

func writeApproved(p *page, v api.Approved) {
	if v.Order != nil {
		writeOneOrder(p, *v.Order)
		return
	}
	writeBegun(p, v, "Approved by %s, and begun:")
}

func writeBegun(p *page, v api.Approved, head string) {
	p.line(head, flat(v.By))
	for _, act := range v.Actions {
		p.line("  %s  %s", flat(act.Do), p.subject(act.Subject))
	}
	p.line("%s shows what comes of it.", p.command("custos why "+strconv.FormatInt(v.Number, 10)))
}
