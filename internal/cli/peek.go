package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) peekCommand() *cobra.Command {
	lines := 50
	c := &cobra.Command{
		Use:   "peek NAME",
		Short: "What an agent shows now, without touching its terminal",
		Long: `peek prints the last lines of an agent's terminal, or of what an agent without one
wrote. Secrets are redacted, and terminal escapes are gone.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Screen, error) {
				return c.Screen(ctx, args[0], lines)
			}, func(p *page, s api.Screen) {
				p.buf.WriteString(clean(s.Text))
				if n := len(s.Text); n > 0 && s.Text[n-1] != '\n' {
					p.buf.WriteByte('\n')
				}
			})
			return err
		},
	}
	c.Flags().IntVarP(&lines, "lines", "n", lines, "how many `LINES`, from the bottom")
	return c
}
