package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) costCommand() *cobra.Command {
	since, by := "7d", "day"
	c := &cobra.Command{
		Use: "cost", Short: "What models used and cost, by day, agent, model and more",
		Long: `cost adds up the responses of models to all agents that are seen, whoever started them,
as their CLIs write them down, and the questions to the judge. Each response counts once.
TOLD is what a CLI said a response cost, TABLE is its tokens at list prices, UNPRICED counts
responses whose price is not known: they are not free. With a subscription, TABLE is what
the same would cost without it, and is not billed.
Only a daemon counts: where nothing is counted now, that is said, with exit code 3.`,
		Example: "  custos cost --since 30d --by agent\n  custos cost --by model --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Costs, error) { return c.Costs(ctx, since, by) }, writeCosts)
			return unlessKnown(v.Unknown, err)
		},
	}
	c.Flags().StringVar(&since, "since", since, "since which `MOMENT`: so long ago, like 7d or 36h, or a day like 2006-01-02")
	c.Flags().StringVar(&by, "by", by, "in which `GROUP` costs are added up: day, agent, role, project, account, model, kind, work, run, formula, session or alert")
	c.AddCommand(a.costPrices())
	return c
}

func (a *app) costPrices() *cobra.Command {
	since := "30d"
	c := &cobra.Command{
		Use: "prices [check]", Short: "The price table, and the models that have no price",
		Long: `prices shows what responses are priced by where their CLI does not say what they cost: dollars
for a million tokens, by the table that comes with this Custos and by [prices.NAME] in custos.toml.
prices check shows only its date, and the models that were seen and have no price. What
was priced keeps its price. Nothing is fetched.`,
		Example:   "  custos cost prices check",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"check"},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Prices, error) { return c.Prices(ctx, since) }, func(p *page, v api.Prices) {
				if len(args) == 0 {
					writePrices(p, v)
				}
				checkPrices(p, v)
			})
			return err
		},
	}
	c.Flags().StringVar(&since, "since", since, "models seen since which `MOMENT`: so long ago, like 7d or 36h, or a day like 2006-01-02")
	return c
}

func writePrices(p *page, v api.Prices) {
	usd := func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'f', -1, 64)
	}
	p.table([]column{{head: "MODELS", shorten: cut}, {head: "ABOVE", right: true}, {head: "FROM"}, {head: "INPUT", right: true}, {head: "READ", right: true}, {head: "5M", right: true},
		{head: "1H", right: true}, {head: "OUTPUT", right: true}, {head: "TABLE", spare: true}}, each(v.Prices, func(m api.ModelPrice) []string {
		return []string{flat(strings.Join(m.Models, " ")), api.Tokens(m.Above), m.Since, usd(m.Input), usd(m.CacheRead), usd(m.CacheWrite5m), usd(m.CacheWrite1h), usd(m.Output), m.Table}
	}))
	p.line("")
}

func checkPrices(p *page, v api.Prices) {
	p.text(0, fmt.Sprintf("The price table is of %s.", v.Date))
	if len(v.Unpriced) == 0 {
		p.text(0, fmt.Sprintf("Each model that was seen since %s has a price.", v.Since.UTC().Format("2006-01-02")))
		return
	}
	p.line("")
	p.table([]column{{head: "NOT PRICED", shorten: middle}, {head: "CALLS", right: true}, {head: "", fold: true}}, each(v.Unpriced, func(m api.UnpricedModel) []string {
		what := fmt.Sprintf("say what it costs: [prices.%q] in custos.toml, or a newer Custos", m.Model)
		if m.Known {
			what = "the table knows it now; those calls came before"
		}
		return []string{flat(m.Model), fmt.Sprint(m.Calls), flat(what)}
	}))
}

func writeCosts(p *page, v api.Costs) {
	defer writeFaults(p, v)
	switch since := v.Since.UTC().Format("2006-01-02 15:04 UTC"); {
	case len(v.Rows) == 0 && v.Unknown+v.AtLeast != "":
		p.line("No call of a model is counted since %s.", since)
		return
	case len(v.Rows) == 0:
		p.line("No model was called since %s.", since)
		return
	}
	p.table([]column{{head: strings.ToUpper(v.By), shorten: middle}, {head: "CALLS", right: true}, {head: "TOKENS", right: true}, {head: "CACHED", right: true},
		{head: "TOLD", right: true}, {head: "TABLE", right: true}, {head: "UNPRICED", right: true}}, each(append(v.Rows, v.Total), costRow))
	if v.Total.Table > 0 {
		p.line("")
		p.text(0, "TABLE is at list prices: with a subscription it is not billed.")
	}
	if v.Total.Unpriced > 0 {
		p.line("")
		p.text(0, fmt.Sprintf("The price of %s is not known; what they cost comes on top: custos cost prices check", plural(v.Total.Unpriced, "call")))
	}
}

func writeFaults(p *page, v api.Costs) {
	for _, why := range []string{v.Unknown, v.AtLeast} {
		if why != "" {
			p.text(0, "More may have been used: "+flat(why)+".")
		}
	}
	for _, f := range v.Faults {
		p.text(0, flat(f.Says()))
	}
}

// unlessKnown ends a command with code 3 where it is not known what was spent, as it said.
func unlessKnown(why string, err error) error {
	if err == nil && why != "" {
		return errUnseen
	}
	return err
}

func costRow(r api.CostRow) []string {
	unpriced := ""
	if r.Unpriced > 0 {
		unpriced = fmt.Sprint(r.Unpriced)
	}
	return []string{flat(r.Key), fmt.Sprint(r.Calls), api.Tokens(r.Tokens), api.Tokens(r.Cached), api.Dollars(r.Told), api.Dollars(r.Table), unpriced}
}
