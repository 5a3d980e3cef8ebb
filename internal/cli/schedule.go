package cli

import (
	"context"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) scheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "schedule", Short: "The formulas that run by themselves",
		Example: "  custos schedule list",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "Schedules, when each is due next, its last run, and why it does not run",
		Example: "  custos schedule list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Schedules, error) {
				return c.Schedules(ctx)
			}, writeSchedules)
			return err
		},
	})
	return c
}

func writeSchedules(p *page, v api.Schedules) {
	if len(v.Schedules) == 0 {
		p.text(0, "No schedule. A formula runs by itself when custos.toml has a section [schedule.NAME], or when it lies in a folder of formulas of yours and has a [[schedule]].")
	}
	rows := make([][]string, 0, len(v.Schedules))
	for _, s := range v.Schedules {
		next, last := "", ""
		if len(s.NextAt) > 0 {
			next = clock(s.NextAt[0], v.At)
		}
		if s.LastAt != nil {
			last = clock(*s.LastAt, v.At) + " " + flat(s.LastDone)
		}
		what := flat(s.Formula)
		if s.Project != "" {
			what += " @ " + flat(s.Project)
		}
		rows = append(rows, []string{flat(s.Name), what, flat(s.When), next, last, flat(s.WhyNot)})
	}
	p.table([]column{{head: "NAME", shorten: middle}, {head: "FORMULA", shorten: middle}, {head: "WHEN", shorten: cut}, {head: "NEXT (UTC)"}, {head: "LAST"},
		{head: "WHY NOT", shorten: cut, keep: 30}}, rows)
	p.next(v.Next)
}
