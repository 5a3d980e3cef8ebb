package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) costCommand() *cobra.Command {
	since, by := "7d", "day"
	c := &cobra.Command{
		Use: "cost", Short: "Model calls and what they cost, by day, formula or alert",
		Long: `cost counts what Custos asked models for: questions to the judge, and agents that
worked on formulas. Agents that you started yourself are not among them. A call
whose price is not known is counted as unpriced.`,
		Example: "  custos cost --since 30d --by formula",
		Args:    cobra.NoArgs,
		RunE: asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.Costs, error) {
			return c.Costs(ctx, since, by)
		}, writeCosts),
	}
	c.Flags().StringVar(&since, "since", since, "since which `MOMENT`: so long ago, like 7d or 36h, or a day like 2006-01-02")
	c.Flags().StringVar(&by, "by", by, "in which `GROUP` costs are added up: day, formula or alert")
	return c
}

func writeCosts(p *page, v api.Costs) {
	if len(v.Rows) == 0 {
		p.line("No model was called since %s.", v.Since.UTC().Format("2006-01-02 15:04 UTC"))
		return
	}
	row := func(r api.CostRow) []string {
		unpriced := ""
		if r.Unpriced > 0 {
			unpriced = fmt.Sprint(r.Unpriced)
		}
		return []string{flat(r.Key), fmt.Sprint(r.Calls), fmt.Sprint(r.Tokens), fmt.Sprintf("$%.4f", r.Dollars), unpriced}
	}
	rows := make([][]string, 0, len(v.Rows)+1)
	for _, r := range v.Rows {
		rows = append(rows, row(r))
	}
	p.table([]column{{head: map[string]string{"day": "DAY", "formula": "FORMULA", "alert": "ALERT"}[v.By], shorten: middle}, {head: "CALLS", right: true}, {head: "TOKENS", right: true},
		{head: "COST", right: true}, {head: "UNPRICED", right: true}}, append(rows, row(v.Total)))
}
