package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) alertsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "alerts",
		Short: "What is wrong, with the numbers to acknowledge",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkFailOn(); err != nil {
				return err
			}
			never := false
			v, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Alerts, error) {
				v, err := c.Alerts(ctx, all)
				if err == nil && len(v.Alerts) == 0 {
					s, err := c.Status(ctx)
					never = err == nil && s.LastPatrol == nil
				}
				return v, err
			}, func(p *page, v api.Alerts) { writeAlerts(p, v, never) })
			if err != nil {
				return err
			}
			var bad []string
			for _, al := range v.Alerts {
				if al.Status == "firing" && al.AckedBy == "" && al.SilencedUntil == nil {
					bad = append(bad, al.Priority)
				}
			}
			return a.alarm(bad)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "those too that ended lately")
	a.failOnFlag(c)
	return c
}

// writeAlerts keeps apart that nothing is wrong and that nobody has looked.
func writeAlerts(p *page, v api.Alerts, never bool) {
	patrol := p.command("custos patrol")
	switch {
	case len(v.Alerts) == 0 && never:
		p.line("No alerts are known: no patrol yet. %s", p.dim("("+patrol+" looks.)"))
		return
	case len(v.Alerts) == 0:
		p.line("No alerts. %s", p.dim("(As of the last patrol: "+patrol+" looks again.)"))
		return
	}
	writeAlertTable(p, v.Alerts)
}

func writeAlertTable(p *page, list []api.Alert) {
	var rows [][]string
	for _, al := range list {
		number := ""
		if al.Number > 0 {
			number = fmt.Sprintf("#%d", al.Number)
		}
		rows = append(rows, []string{number, flat(al.Priority), flat(al.Rule), p.subject(al.Subject), span(al.For), alertState(al), what(al.Summary, al.Subject)})
	}
	p.table([]column{{right: true}, {paint: p.priority}, {head: "RULE"}, {head: "SUBJECT", shorten: middle}, {head: "FOR", right: true}, {head: "STATE", shorten: cut}, {head: "WHAT", shorten: cut}}, rows)
}

// alertState says what is unusual about an alert; a plain firing one says nothing.
func alertState(al api.Alert) string {
	switch {
	case al.Status == "resolved":
		return "over"
	case al.AckedBy != "":
		return "taken up by " + flat(al.AckedBy)
	case al.SilencedUntil != nil:
		return "silenced until " + al.SilencedUntil.UTC().Format("2006-01-02 15:04")
	case al.Blind != "":
		return "cannot tell any more: " + flat(al.Blind)
	case al.Flapping:
		return "flapping"
	case al.Status == "pending":
		return "pending"
	}
	return ""
}
