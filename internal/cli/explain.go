package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) explainCommand() *cobra.Command {
	var file string
	var o api.ExplainOrder
	c := &cobra.Command{
		Use:     "explain --screen FILE",
		Example: "  custos explain --screen screen.txt\n  tmux capture-pane -p -t dev | custos explain --screen -",
		Short:   "How the screen of an agent is read, and how little that proves",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return &api.Error{Kind: api.BadInput, Message: "cannot explain nothing: give --screen FILE", Hint: "tmux capture-pane -p | custos explain --screen -"}
			}
			screen, err := a.input(file, "screen", largestScreen)
			if err != nil {
				return err
			}
			o.Screen = strings.ToValidUTF8(string(screen), "\uFFFD") // a program wrote it, not a person
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Explanation, error) { return c.Explain(ctx, o) }, writeExplanation)
		},
	}
	c.Flags().StringVar(&file, "screen", "", "the text of the screen, in a `FILE`; - is the standard input")
	c.Flags().StringVar(&o.Kind, "kind", "", "the `KIND` of agent: claude, codex, … (default: every kind is tried)")
	c.Flags().StringVar(&o.Title, "title", "", "the `TITLE` of the pane")
	return c
}

func writeExplanation(p *page, e api.Explanation) {
	p.line("%s  %s", p.state(flat(e.State)), flat(e.Reason))
	if e.Source != "" {
		p.line("source: %s", flat(e.Source))
	}
	p.table([]column{{head: "KIND"}, {head: "WHERE"}, {head: "SPEAKS FOR"}, {head: "MARK", shorten: cut}}, each(e.Signals, func(s api.Signal) []string {
		return []string{flat(s.Kind), flat(s.Source), flat(s.Hint), flat(s.Says)}
	}))
	for _, w := range e.Warnings {
		p.text(0, w)
	}
}
