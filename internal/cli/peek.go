package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) peekCommand() *cobra.Command {
	lines := 50
	c := &cobra.Command{
		Use:     "peek NAME",
		Example: "  custos peek builder\n  custos peek builder -n 80",
		Short:   "What an agent shows now, without touching its terminal",
		Long: `peek prints the last lines of an agent's terminal, or of what an agent without one
wrote. Secrets are redacted, and terminal escapes are gone. On a terminal, lines that
are wider than it are cut.`,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Screen, error) {
			return c.Screen(ctx, args[0], lines)
		}, func(p *page, s api.Screen) {
			writeScreen(p, s, a.Terminal)
		}),
	}
	c.Flags().IntVarP(&lines, "lines", "n", lines, "the `COUNT` of lines, from the bottom")
	return c
}

func writeScreen(p *page, s api.Screen, terminal bool) {
	text := strings.TrimSuffix(clean(s.Text), "\n")
	if text == "" {
		return
	}
	for _, line := range strings.Split(text, "\n") {
		if terminal {
			line = cut(strings.ReplaceAll(line, "\t", "    "), p.width)
		}
		p.line("%s", line)
	}
}
