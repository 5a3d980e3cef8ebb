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
	command := false
	c := &cobra.Command{
		Use:   "nudge NAME TEXT…",
		Short: "Say something to an agent, when it listens",
		Long: `nudge types a text into an agent's terminal when that is safe: it is idle, its
input line is empty, no person types there, and it is still that very agent. Until
then the nudge is queued, for as long as --ttl says. What the agent's CLI would
take for a command of its own is typed so that it arrives as a prompt, unless
--command says that it is meant as one. It is delivered when the agent's
transcript, its hooks or else its screen prove it; not delivered when it was not
typed, or still stood at the prompt, from where it is then removed; otherwise it
cannot be told. It is never typed twice.
With - the text is read from the standard input.`,
		Example: "  custos nudge builder 'The tests are red: look at CI.'\n  custos nudge builder - < notes.md\n  custos nudge builder --command /review",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOf(strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			o := api.OrderRequest{Do: "nudge", Agent: args[0], Text: strings.TrimRight(text, "\n"), Command: command}
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
	f.addInstance(c)
	c.Flags().StringVar(&ttl, "ttl", "", "the `DURATION` for which it is worth saying: 10m, 2h (default: nudge_ttl of custos.toml)")
	c.Flags().BoolVar(&command, "command", false, "the text is a command of the agent's CLI (/review), and typed as it is")
	return c
}
