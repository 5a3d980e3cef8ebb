package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) patrolCommand() *cobra.Command {
	var apply bool
	c := &cobra.Command{
		Use:     "patrol",
		Example: "  custos patrol\n  custos patrol --apply\n  custos patrol --fail-on P2",
		Short:   "Look, judge, mend what is allowed, and write it down",
		Long: `patrol runs one whole pass now: it looks, judges, does what the modes allow,
waits for it, and writes the journal. With --apply you approve, for this pass,
every action whose rule is not set to observe; it then ends with exit code 1 when
an action failed, or cannot be said to have worked.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkFailOn(); err != nil {
				return err
			}
			r, err := ask(cmd.Context(), a, labour, func(ctx context.Context, c *api.Client) (api.PatrolReport, error) {
				return c.Patrol(ctx, api.PatrolOrder{Apply: apply})
			}, writePatrol)
			if err != nil {
				return cutShort(cmd.Context(), err)
			}
			if r.Unkept != "" {
				return &unkept{r.Unkept}
			}
			if r.Applied && anyFailed(r.Done) {
				return errFailed
			}
			var bad []string
			for _, al := range r.Alerts {
				if al.AckedBy == "" && al.SilencedUntil == nil {
					bad = append(bad, al.Priority)
				}
			}
			return a.alarm(bad)
		},
	}
	c.Flags().BoolVar(&apply, "apply", false, "act now, as if every rule that asks were approved")
	a.failOnFlag(c)
	return c
}

// unkept is a patrol that could not be written down. What it saw was said, in
// words or as JSON.
type unkept struct{ why string }

func (e *unkept) Error() string {
	return "what this patrol saw could not be kept, and what was not written down was not done: " + e.why
}

// cutShort says of a patrol that was not waited for what is known of it.
func cutShort(ctx context.Context, err error) error {
	why := "interrupted"
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
	case errors.Is(err, context.DeadlineExceeded):
		why = "no answer in " + api.Span(labour.String())
	default:
		return err
	}
	return &api.Error{Kind: api.CannotLook, Hint: "custos journal; custos feed",
		Message: why + ": what was begun goes on or is taken up by the next patrol; the journal and the feed show it"}
}

// anyFailed says whether an action failed, or may have: what could not be
// verified is no success.
func anyFailed(list []api.Outcome) bool {
	for _, o := range list {
		switch o.Status {
		case "failed", "unverified", "in_doubt":
			return true
		}
	}
	return false
}

func writePatrol(p *page, r api.PatrolReport) {
	p.line("%s · %s · mode %s%s", p.paint(bold, fmt.Sprintf("Patrol %d", r.Number)), r.At.UTC().Format("Mon 2 Jan 2006 15:04 UTC"), flat(r.Mode), applied(r))
	p.line("%s", hostLine(r.Host))
	p.head("ALERTS", "")
	if len(r.Alerts) == 0 {
		p.line("  %s", p.paint(green, "none"))
	}
	writeAlertTable(p, r.Alerts)
	if len(r.Resolved) > 0 {
		p.head("OVER", "")
		writeAlertTable(p, r.Resolved)
	}
	patrolDone(p, r)
	lookSkipped(p, r.Skipped, api.FirstLook{At: r.At})
	patrolDoubts(p, r.CannotTell)
	p.notSeen(r.NotSeen)
	p.next(r.Next)
}

func applied(r api.PatrolReport) string {
	if r.Applied {
		return ", applied on your order"
	}
	return ""
}

func patrolDone(p *page, r api.PatrolReport) {
	p.head("DONE", "")
	if len(r.Done) == 0 {
		p.line("  nothing")
	}
	p.table([]column{{paint: p.result}, {}, {shorten: middle}, {shorten: cut}}, each(r.Done, func(d api.Outcome) []string {
		what := d.Effect
		if d.Why != "" {
			what = d.Why
		}
		return []string{flat(d.Status), flat(d.Do), p.subject(d.Subject), flat(what)}
	}))
	waiting := len(r.Planned) - len(r.Done)
	switch {
	case waiting > 0 && r.Unkept != "":
		p.line("  %s", p.dim(fmt.Sprintf("%d more were not begun", waiting)))
	case waiting > 0:
		p.line("  %s", p.dim(fmt.Sprintf("%d more under way", waiting)))
	}
}

func (p *page) result(status string) string {
	switch status {
	case "done":
		return p.paint(green, status)
	case "unneeded":
		return p.dim(status)
	}
	return p.paint(yellow, status)
}

// patrolDoubts joins the rules that cannot be answered of one thing: mostly for
// one and the same reason.
func patrolDoubts(p *page, list []api.Doubt) {
	if len(list) == 0 {
		return
	}
	p.head("CANNOT TELL", "")
	var rows [][]string
	var kinds []string
	at := map[string]int{}
	for _, d := range list {
		if i, ok := at[d.Subject]; ok {
			rows[i][1] += ", " + flat(d.Rule)
			continue
		}
		at[d.Subject] = len(rows)
		rows = append(rows, []string{p.subject(d.Subject), flat(d.Rule), flat(d.Why)})
		kind, _, _ := strings.Cut(d.Subject, "/")
		kinds = append(kinds, kind)
	}
	rows = countAlike(kinds, rows)
	p.table([]column{{shorten: middle}, {shorten: cut}, {shorten: cut}}, first(rows, longest))
	p.more(len(rows), "custos plan --json")
}

// countAlike joins the rows of one kind that say the same into one, which names the first
// and counts the others: they leave room for what else there is.
func countAlike(kinds []string, rows [][]string) (out [][]string) {
	like := map[string][]int{}
	key := func(i int) string { return strings.Join(append([]string{kinds[i]}, rows[i][1:]...), "\x00") }
	for i := range rows {
		like[key(i)] = append(like[key(i)], i)
	}
	for i, row := range rows {
		all := like[key(i)]
		if i != all[0] {
			continue
		}
		if more := len(all) - 1; more > 0 {
			row = append([]string{fmt.Sprintf("%s and %d more", row[0], more)}, row[1:]...)
		}
		out = append(out, row)
	}
	return out
}
