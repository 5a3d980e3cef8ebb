package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) failuresCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "failures [NAME]",
		Example: "  custos failures\n  custos failures builder",
		Short:   "The record of what went wrong with agents",
		Long: `failures lists the crashes, the starts, resumes and recoveries that failed, and the agents
that were given up, oldest first; with a name, those of one agent.`,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Failures, error) {
			return c.Failures(ctx, only(args))
		}, func(p *page, v api.Failures) {
			if len(v.Failures) == 0 {
				p.line("No failures on record.")
			}
			writeFailureTable(p, v.Failures)
		}),
	}
}

func writeFailureTable(p *page, list []api.Failure) {
	p.table([]column{{head: "WHEN", paint: p.dim}, {head: "AGENT", shorten: middle}, {head: "ROLE"}, {head: "TASK", shorten: cut}, {head: "VERDICT"}, {head: "TIER"}, {head: "REASON", shorten: cut}}, each(list, func(f api.Failure) []string {
		tier := "0"
		if f.Tier > 0 {
			tier = "model"
		}
		return []string{f.At.UTC().Format("2006-01-02 15:04:05"), flat(f.Agent), flat(f.Role), flat(f.Task), flat(f.Verdict), tier, flat(f.Reason)}
	}))
}
