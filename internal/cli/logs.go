package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) logsCommand() *cobra.Command {
	var q api.LogQuery
	var follow bool
	c := &cobra.Command{
		Use:   "logs NAME",
		Short: "What an agent without a terminal wrote, as it was kept",
		Long: `logs prints what a headless agent wrote, also when it has ended: of its newest
instance, the last megabyte at most. Some ten MiB are kept of each instance.
Secrets are redacted, and terminal escapes are gone. --follow goes on until Ctrl-C,
with the next instance too when it is started again; with --json each answer is
then one line.

Of an agent in tmux nothing is kept but what is on its screen: custos peek NAME.`,
		Example: `  custos spawn night --headless --prompt "Mend the tests"
  custos logs night --lines 20
  custos logs night --errors
  custos logs night --follow`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if follow {
				return a.followLog(cmd.Context(), args[0], q)
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Log, error) { return c.Log(ctx, args[0], q) }, writeLog)
		},
	}
	c.Flags().IntVarP(&q.Lines, "lines", "n", 200, "the `COUNT` of lines, from the end")
	c.Flags().BoolVar(&q.Errors, "errors", false, "what it wrote to its standard error")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
	return c
}

func writeLog(p *page, l api.Log) {
	if l.Text+l.Rest == "" {
		p.line("It has written nothing.")
	}
	writeLines(p, l.Text+l.Rest)
}

func writeLines(p *page, text string) {
	if text = strings.TrimSuffix(clean(text), "\n"); text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.line("%s", line)
	}
}

// muchLog is so much of a log that there is more of it at once.
const muchLog = 64 << 10

// followLog shows what an agent writes until ctx ends, each line once: whole ones; what
// it has not ended yet comes when it has.
func (a *app) followLog(ctx context.Context, name string, q api.LogQuery) error {
	before := ""
	return follow(ctx, a, func(ctx context.Context, c *api.Client) (api.Log, error) { return c.Log(ctx, name, q) }, func(p *page, l api.Log) (more bool, err error) {
		if !a.json || l.Text != "" {
			err = a.oneLine(p, l, func() {
				breakOfLog(p, l, before)
				writeLines(p, l.Text)
			})
		}
		q.After, before = l.Next, l.Instance
		return len(l.Text) >= muchLog, err
	})
}

// breakOfLog says what comes between two answers.
func breakOfLog(p *page, l api.Log, before string) {
	if before != "" && l.Instance != before {
		p.line("--- it was started again: %s ---", flat(l.Instance))
	}
	if l.Gap {
		p.line("--- something is not kept any more ---")
	}
}
