package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) nudgeCommand() *cobra.Command {
	f := orderFlags{}
	var ttl string
	c := &cobra.Command{
		Use:   "nudge NAME TEXT…",
		Short: "Say something to an agent, when it listens",
		Long: `nudge types a text into an agent's terminal when that is safe: it is idle, its
input line is empty, no person types there, and it is still that very agent. Until
then the nudge is queued, for as long as --ttl says. It is delivered when the agent
acknowledges it; otherwise it is reported as undelivered, and never typed twice.
With - the text is read from the standard input.`,
		Example: "  custos nudge builder 'The tests are red: look at CI.'\n  custos nudge builder - < notes.md",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOf(strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			o := api.OrderRequest{Do: "nudge", Agent: args[0], Text: strings.TrimRight(text, "\n")}
			if strings.TrimSpace(o.Text) == "" {
				return usage("cannot nudge %s: there is nothing to say: the standard input has no words", flat(args[0]))
			}
			if ttl != "" {
				d, err := config.Duration(ttl)
				if err != nil {
					return usage("cannot read --ttl: %v", err)
				}
				o.TTL = d.String()
			}
			return a.order(cmd, o, f)
		},
	}
	f.add(c)
	c.Flags().StringVar(&ttl, "ttl", "", "the `DURATION` for which it is worth saying: 10m, 2h (default: nudge_ttl of custos.toml)")
	return c
}
