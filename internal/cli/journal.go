package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) journalCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "journal [DAY]",
		Short:   "The journal of the newest day, or of one like 2006-01-02",
		Example: "  custos journal\n  custos journal 2026-11-20",
		RunE: func(cmd *cobra.Command, args []string) error {
			day := only(args)
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Journal, error) {
				j, err := c.Journal(ctx, day)
				return j, noJournal(err, day)
			}, func(p *page, j api.Journal) {
				p.buf.WriteString(clean(j.Text))
				if n := len(j.Text); n > 0 && j.Text[n-1] != '\n' {
					p.buf.WriteByte('\n')
				}
			})
		},
	}
}

// noJournal says in a person's words that there is none.
func noJournal(err error, day string) error {
	switch {
	case !isNotFound(err):
		return err
	case day == "":
		return &api.Error{Kind: api.NotFound, Message: "no patrol has been journalled yet", Hint: "custos patrol"}
	}
	return &api.Error{Kind: api.NotFound, Message: "there is no journal of " + flat(day), Hint: "custos journal"}
}
