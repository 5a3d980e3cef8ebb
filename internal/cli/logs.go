package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
		Args: cobra.ExactArgs(1),
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

// pollLog is how often --follow looks; after much it looks again at once.
const (
	pollLog = time.Second
	muchLog = 64 << 10
)

// followLog tells what an agent writes until ctx ends, each line once.
func (a *app) followLog(ctx context.Context, name string, q api.LogQuery) error {
	c, closer, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer closer()
	for before := ""; ; {
		l, err := c.Log(ctx, name, q)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := a.moreOfLog(l, before); err != nil {
			return err
		}
		q.After, before = l.Next, l.Instance
		if len(l.Text) < muchLog && sleep(ctx, pollLog) != nil {
			return nil
		}
	}
}

// moreOfLog writes whole lines; what the agent has not ended yet comes when it has.
func (a *app) moreOfLog(l api.Log, before string) error {
	p := a.page()
	switch {
	case a.json && l.Text != "":
		b, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("cannot write JSON: %w", err)
		}
		p.buf.Write(append(b, '\n'))
	case !a.json:
		a.breakOfLog(p, l, before)
		writeLines(p, l.Text)
	}
	return p.flush()
}

// breakOfLog says what comes between two answers.
func (a *app) breakOfLog(p *page, l api.Log, before string) {
	if before != "" && l.Instance != before {
		p.line("--- it was started again: %s ---", flat(l.Instance))
	}
	if l.Gap {
		p.line("--- something is not kept any more ---")
	}
}
