package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/remote"
)

func (a *app) alertsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "alerts",
		Example: "  custos alerts\n  custos alerts --all --json",
		Short:   "What is wrong, with the numbers to acknowledge",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkFailOn(); err != nil {
				return err
			}
			never := false
			v, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Alerts, error) {
				v, err := c.Alerts(ctx, all)
				if err == nil {
					v = withAlerts(v, a.otherAlerts(ctx, all))
				}
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
			if err := a.alarm(bad); err != nil || (v.Trouble == "" || len(v.Alerts) > 0) && v.Unseen == "" && !isSilent(v.Hosts) {
				return err
			}
			return errUnseen // that there is none is not known
		},
	}
	c.Flags().BoolVar(&all, "all", false, "those too that ended lately")
	a.failOnFlag(c)
	return c
}

// otherAlerts are the alerts of all other machines. What ended lately no host tells by itself: it is asked for.
func (a *app) otherAlerts(ctx context.Context, all bool) []remote.Answer[api.Alerts] {
	told := func(h api.HostLook) api.Alerts { return api.Alerts{Alerts: h.Alerts} }
	if all {
		told = nil
	}
	return others(ctx, a, func(ctx context.Context, c *api.Client) (api.Alerts, error) { return c.Alerts(ctx, all) }, told)
}

// alertNumber reads the number of an alert, for what is to be done with it.
func alertNumber(do, text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n <= 0 {
		return 0, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot %s %q: want the number of an alert", do, flat(text)), Hint: "custos alerts"}
	}
	return n, nil
}

// writeAlerts keeps apart that nothing is wrong and that no patrol has looked.
func writeAlerts(p *page, v api.Alerts, never bool) {
	defer writeSilent(p, v.Hosts)
	patrol := p.command("custos patrol")
	if v.Unseen != "" {
		defer p.text(0, "the alerts of this machine are not known: "+flat(v.Unseen))
	}
	if v.Trouble != "" {
		p.text(0, "Passes cannot be finished now, so this is what a look finds: "+flat(v.Trouble))
	}
	switch {
	case len(v.Alerts) == 0 && v.Unseen != "":
		return
	case len(v.Alerts) == 0 && v.Trouble != "":
		p.line("No alert is found; what else there is, is not known.")
		return
	case len(v.Alerts) == 0 && never:
		p.line("No alerts are known: no patrol yet. %s", p.dim("("+patrol+" looks.)"))
		return
	case len(v.Alerts) == 0:
		p.line("No alerts. %s", p.dim("(As it was seen last: "+patrol+" looks again.)"))
		return
	}
	writeAlertTable(p, v.Alerts)
}

func writeAlertTable(p *page, list []api.Alert) {
	rows := each(list, func(al api.Alert) []string {
		number := ""
		if al.Number > 0 {
			number = fmt.Sprintf("#%d", al.Number)
			if al.Host != "" {
				number = fmt.Sprintf("%s/%d", flat(al.Host), al.Number)
			}
		}
		return []string{number, flat(al.Priority), flat(al.Rule), p.subject(al.Subject), api.Span(al.For), alertState(al), what(al.Summary, al.Subject)}
	})
	columns := []column{{right: true}, {paint: p.priority}, {head: "RULE"}, {head: "SUBJECT", shorten: middle, keep: longestName(list)}, {head: "FOR", right: true},
		{head: "STATE", shorten: cut}, {head: "WHAT", shorten: cut, keep: reasonKeeps}}
	if _, fits := p.widths(columns, rows); !fits {
		p.narrowAlerts(rows)
		return
	}
	p.table(columns, rows)
}

// longestName is how wide the longest subject is that must stand whole: a name, to be
// typed. Of a path the ends tell most.
func longestName(list []api.Alert) (most int) {
	for _, al := range list {
		if !strings.Contains(al.Subject, "//") {
			most = max(most, runes(flat(al.Subject)))
		}
	}
	return most
}

// narrowAlerts writes alerts where the table has no room: names on one line, and the
// words about them on the next.
func (p *page) narrowAlerts(rows [][]string) {
	for _, r := range rows {
		front := fmt.Sprintf("  %s  %s  %s  ", pad(r[0], 5, true), p.priority(r[1]), r[2])
		room := max(narrowest, p.width-runes(front)-runes(r[4])-2)
		subject := r[3]
		if strings.ContainsRune(subject, '/') {
			subject = middle(subject, room)
		}
		p.line("%s%s  %s", front, subject, r[4])
		about := strings.Join(slices.DeleteFunc([]string{r[5], r[6]}, func(s string) bool { return s == "" }), " · ")
		p.line("%s%s", strings.Repeat(" ", 13), cut(about, p.width-13))
	}
}

// alertState says what is unusual about an alert; a plain firing one says nothing.
func alertState(al api.Alert) string {
	switch {
	case al.Status == "resolved":
		return "over"
	case al.AckedBy != "" && al.Status == "pending":
		return "pending, taken up by " + flat(al.AckedBy)
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
