package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) tellCommand() *cobra.Command {
	var t api.Tell
	c := &cobra.Command{
		Use:   "tell TEXT | -",
		Short: "Tell people something, as the routes say",
		Long: `tell gives people a message of yours: to the notifiers, at the hours and in the
groups that custos.toml says for its priority. Agents may use it, in their own
name, at P2 at most and ten times an hour. With - the text is read from standard
input. Formulas that call Disinto's matrix_send get one that does this.`,
		Example: "  custos tell 'the release is out'\n  custos tell --from supervisor --priority P3 - < status.txt",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Text = strings.Join(args, " ")
			if t.Text == "-" {
				text, err := io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
				if err != nil {
					return usage("cannot read standard input: %v", err)
				}
				t.Text = string(text)
			}
			_, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Telling, error) {
				return c.Tell(ctx, t)
			}, func(p *page, v api.Telling) {
				p.line("Told at %s: %s", v.Priority, flat(v.Subject))
			})
			return err
		},
	}
	c.Flags().StringVar(&t.From, "from", "", "who says it: `NAME`")
	c.Flags().StringVar(&t.Priority, "priority", "P2", "how urgent: `P0` to P4")
	return c
}
