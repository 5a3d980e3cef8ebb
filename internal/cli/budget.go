package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) budgetCommand() *cobra.Command {
	list := a.asksBudgets(func(ctx context.Context, c *api.Client, _ []string) (api.Budgets, error) { return c.Budgets(ctx) }, writeBudgets)
	c := &cobra.Command{
		Use: "budget", Short: "What models may cost, what of it is used, and what waits for more",
		Long: `budget lists the budgets of custos.toml ([budget.NAME]): how much of each is used in
its window, how far it has come, and when it is used up at the rate since the
first response of the last hour.
One that is used up holds back what would spend of it: starts, recoveries, nudges and
calls of the judge. A person raises it for a while; it ends by itself.
Where it is not known what was spent, as without a daemon, that is said, with exit code 3.`,
		Example: "  custos budget\n  custos budget raise day +10usd --for 2h\n  custos budget lower day",
		RunE:    list,
	}
	left := &cobra.Command{
		Use: "left [AGENT]", Short: "What an agent has spent, and what is left for it; an agent asks for itself", Example: "  custos budget left builder",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.SpendLeft, error) { return c.SpendLeft(ctx, only(args)) }, writeLeft)
			return unlessKnown(v.Unknown, err)
		},
	}
	c.AddCommand(left, &cobra.Command{Use: "list", Short: "The same", Example: "  custos budget list --json", RunE: list}, a.budgetShow(), a.budgetRaise(), a.budgetLower())
	return c
}

// asksBudgets is what a command does that shows budgets: where it is not known what was spent, it ends with code 3.
func (a *app) asksBudgets(question func(context.Context, *api.Client, []string) (api.Budgets, error), write func(*page, api.Budgets)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		v, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Budgets, error) { return question(ctx, c, args) }, write)
		return unlessKnown(v.Unknown, err)
	}
}

func (a *app) budgetShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "One budget, and each allowance of it", Example: "  custos budget show day",
		RunE: a.asksBudgets(func(ctx context.Context, c *api.Client, args []string) (api.Budgets, error) {
			all, err := c.Budgets(ctx)
			var rows []api.Budget
			for _, b := range all.Rows {
				if b.Name == args[0] || b.Budget == args[0] {
					rows = append(rows, b)
				}
			}
			if err == nil && len(rows) == 0 && all.Unknown == "" {
				return all, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show budget %q: there is none, or nothing was spent of it", flat(args[0])), Hint: "custos budget"}
			}
			all.Rows = rows
			return all, err
		}, func(p *page, v api.Budgets) {
			for _, b := range v.Rows {
				writeBudget(p, b)
			}
			writeUnknown(p, v)
		}),
	}
}

func (a *app) budgetRaise() *cobra.Command {
	o := api.RaiseOrder{For: "2h"}
	c := &cobra.Command{
		Use: "raise NAME +COUNT", Short: "Let a budget have more for a while; it ends by itself",
		Long: `raise adds to a limit of a budget, for a while. A budget of which each agent (role,
project, …) has an allowance of its own is raised for all of them by its name, and for one by
NAME/WHOSE, as the list shows it. Only a person raises one. What waited goes on at once.`,
		Example: "  custos budget raise day +10usd --for 2h\n  custos budget raise each/builder +500ktokens --why 'the release'",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := config.Duration(o.For)
			if err != nil {
				return usage("cannot read --for: %v", err)
			}
			order := o
			order.Name, order.By, order.For, order.Key = args[0], args[1], d.String(), newID()
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Raised, error) { return c.Raise(ctx, order) }, writeRaised)
		},
	}
	c.Flags().StringVar(&o.For, "for", o.For, "the `DURATION`: 30m, 2h, 1d")
	c.Flags().StringVar(&o.Why, "why", "", "the `REASON`, for the record")
	return c
}

func (a *app) budgetLower() *cobra.Command {
	return &cobra.Command{
		Use: "lower NAME", Short: "End now what a budget was raised by", Example: "  custos budget lower day",
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.Raised, error) {
			return c.Raise(ctx, api.RaiseOrder{Name: args[0], Lower: true})
		}, writeRaised),
	}
}

func writeRaised(p *page, v api.Raised) {
	if v.Ended > 0 {
		p.line("Budget %s is as custos.toml has it.", flat(v.Name))
		return
	}
	p.line("Raised budget %s by %s until %s UTC.", flat(v.Name), strings.TrimPrefix(flat(v.By), "+"), v.Until.UTC().Format("2006-01-02 15:04"))
	p.line("%s ends that before.", p.command("custos budget lower "+quote(v.Name)))
}

func writeBudgets(p *page, v api.Budgets) {
	if len(v.Rows)+len(v.AtLeast) == 0 && v.Unknown == "" {
		p.text(0, "There are no budgets, or nothing was spent of them: [budget.NAME] in custos.toml says what models may cost.")
		return
	}
	rows := make([][]string, 0, len(v.Rows))
	for _, b := range v.Rows {
		rows = append(rows, []string{flat(b.Name), b.Window, flat(b.Says), b.Share(), b.StageWord(), b.TimeToLimit})
	}
	p.table([]column{{head: "BUDGET", shorten: middle}, {head: "WINDOW"}, {head: "USED", shorten: cut}, {head: "SHARE", right: true}, {head: "STAGE"}, {head: "LIMIT IN", right: true}}, rows)
	for _, b := range v.Rows {
		if b.Hint != "" {
			p.text(0, fmt.Sprintf("%s holds %s:", flat(b.Name), flat(b.Holds())))
			p.typed("  → ", p.proposed(b.Hint))
		}
	}
	writeUnknown(p, v)
}

func writeLeft(p *page, v api.SpendLeft) { p.text(0, strings.Join(v.Says, "\n")) }

func writeUnknown(p *page, v api.Budgets) {
	if v.Unknown != "" {
		p.text(0, fmt.Sprintf("What was spent is not known: %s.", flat(v.Unknown)))
	}
	if v.AtLeast != "" {
		p.text(0, fmt.Sprintf("More may be used: %s.", flat(v.AtLeast)))
	}
}

func writeBudget(p *page, b api.Budget) {
	p.text(0, fmt.Sprintf("%s (%s, %s): %s, %s", flat(b.Name), b.Scope, b.Window, flat(b.Says), b.StageWord()))
	for _, of := range []struct{ what, text string }{
		{"More may be used: ", b.Blind}, {"Raised by ", b.Raised}, {"Used up in ", b.TimeToLimit},
		{"Spend of it: ", strings.Join(b.Agents, ", ")}, {"Not ours, and never touched: ", strings.Join(b.Foreign, ", ")},
	} {
		if of.text != "" {
			p.text(2, of.what+flat(of.text))
		}
	}
	if b.Ends != nil {
		p.line("  Its window ends at %s UTC", b.Ends.UTC().Format(time.DateTime))
	}
	if b.Hint != "" {
		p.typed("  → ", p.proposed(b.Hint))
	}
}
