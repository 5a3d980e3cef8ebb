package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// errUnheard ends tell with code 1: it is written down, and reaches no one. That has
// been said on the standard output.
var errUnheard = errors.New("it reaches no one")

// sentLine says who is to get a message, and not that it has arrived: it is sent by and by.
func sentLine(v api.Telling) string {
	if len(v.To) == 0 {
		return fmt.Sprintf("This reaches no one: no [notifier.NAME] of custos.toml gets messages of %s. It is only written down: %s", v.Priority, flat(v.Subject))
	}
	return fmt.Sprintf("To be sent at %s to %s: %s", v.Priority, flat(strings.Join(v.To, ", ")), flat(v.Subject))
}

func (a *app) tellCommand() *cobra.Command {
	var t api.Tell
	var try string
	c := &cobra.Command{
		Use:   "tell TEXT | - | --try NAME",
		Short: "Send people a message, as the routes say",
		Long: `tell sends people a message of yours: to the notifiers, at the hours and in the
groups that custos.toml says for its priority. Agents may use it, in their own
name (agent/NAME), at P2 at most and ten times an hour. With - the text is read from standard
input. It exits with 1 when it reaches no one, because no notifier is configured, no route leads to
one at its priority, or none of them takes what it is sent now. It does not wait until it is
sent: what cannot be is tried again, and told by custos health and custos doctor. Without a
daemon it is written down, which is said, with exit code 4.
--try sends a test message to one receiver, the NAME of a [notifier.NAME], at once and
whatever the routes say, and tells what came of it; a person may. Formulas that call Disinto's matrix_send get one that does this.`,
		Example: "  custos tell 'the release is out'\n  custos tell --try phone\n  custos tell --from supervisor --priority P3 - < status.txt",
		Args: func(cmd *cobra.Command, args []string) error {
			if try == "" {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if try != "" {
				return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Tried, error) { return c.Try(ctx, try) }, func(p *page, v api.Tried) {
					p.line("%s has taken the test message after %s: see whether it arrived.", flat(v.To), flat(v.Took))
				})
			}
			var err error
			if t.Text, err = a.textOf(strings.Join(args, " ")); err != nil {
				return err
			}
			told, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Telling, error) { return c.Tell(ctx, t) }, func(p *page, v api.Telling) {
				p.line("%s", sentLine(v))
				if v.Waits != "" {
					p.line("It waits: %s", flat(v.Waits))
				}
				for _, f := range v.Failing {
					p.line("It waits: what was sent before has not got there. %s", flat(f))
				}
			})
			if err == nil && len(told.Failing) == len(told.To) {
				err = errUnheard
			} else if err == nil && told.Waits != "" {
				err = errQueued
			}
			return err
		},
	}
	c.Flags().StringVar(&try, "try", "", "send a test message to this `NAME`")
	c.Flags().StringVar(&t.From, "from", "", "who says it: `NAME`")
	c.Flags().StringVar(&t.Priority, "priority", "P2", "how urgent, as a `PRIORITY`: P0 to P4")
	c.MarkFlagsMutuallyExclusive("try", "from")
	c.MarkFlagsMutuallyExclusive("try", "priority")
	return c
}
