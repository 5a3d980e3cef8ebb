package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) reportCommand() *cobra.Command {
	since := "12h"
	c := &cobra.Command{
		Use: "report", Short: "The morning page: what agents made, what waits for you, what Custos did",
		Long: `report shows of each agent what it committed, whether that is pushed, its open
pull requests and their checks, those that were merged or closed, and what it cost, as far as each is known; what
waits for a person, with the command to type; and what Custos did and refused,
with the reason.

Commits are those made in the agent's own worktree, by git's reflog of it. Pull
requests are seen where a forge is configured. Cost is what the newest run of the
agent reported.`,
		Example: "  custos report\n  custos report --since 2026-11-20\n  custos report --since 7d --json",
		RunE:    asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.Report, error) { return c.Report(ctx, since) }, writeReport),
	}
	c.Flags().StringVar(&since, "since", since, "since which `MOMENT`: so long ago, like 12h or 7d, or a day like 2006-01-02")
	return c
}

func writeReport(p *page, r api.Report) {
	reportHead(p, r)
	p.needs("WAITS FOR YOU", r.Waits, r.NotSeen)
	reportAgents(p, r)
	reportDid(p, r)
	reportRefused(p, r)
	reportAlerts(p, r)
	reportEnd(p, r)
	p.next(r.Next)
}

func reportHead(p *page, r api.Report) {
	p.line("%s · %s, since %s", p.paint(bold, "custos on "+flat(r.From.Host)), r.At.UTC().Format("Mon 2 Jan 2006 15:04 UTC"), clock(r.Since, r.At))
	patrols := plural(r.Patrols, "patrol") + " since then"
	if r.Patrols == 0 {
		patrols = "no patrol since then"
	}
	if !r.Watched {
		patrols += "; no daemon watches now"
	}
	p.line("%s", patrols)
	if r.Cut {
		p.line("%s", p.paint(yellow, "the event log does not reach back so far: what Custos did may be more"))
	}
}

func reportAgents(p *page, r api.Report) {
	note := ""
	if len(r.Agents) > 0 {
		note = strconv.Itoa(len(r.Agents))
	}
	p.head("AGENTS", note)
	if len(r.Agents) == 0 {
		p.line("  %s", nothingSeen(r.NotSeen, "agents", "none"))
	}
	rows := each(first(r.Agents, mostAgents), func(g api.ReportAgent) []string {
		return []string{flat(g.Name), flat(g.State), reportSince(g), commits(g), pushed(g), pulls(g), checks(g), cost(g), lastWord(g)}
	})
	p.table([]column{
		{head: "NAME", shorten: middle}, {head: "STATE", paint: p.state}, {head: "FOR", right: true}, {head: "COMMITS", right: true},
		{head: "PUSHED"}, {head: "PR", shorten: cut}, {head: "CHECKS", shorten: cut}, {head: "COST", right: true}, {head: "LAST", shorten: cut, keep: 20, spare: true},
	}, rows)
	if n := len(r.Agents); n > mostAgents {
		p.line("  %s", p.dim(fmt.Sprintf("and %d more, which need less attention: %s", n-mostAgents, p.command("custos report --json"))))
	}
	for _, g := range r.Agents {
		if g.Failed != "" {
			p.text(2, flat(g.Name)+" was given up: "+flat(g.Failed))
		}
	}
}

func reportSince(g api.ReportAgent) string {
	if g.Since == "" {
		return ""
	}
	return api.Span(g.Since)
}

func commits(g api.ReportAgent) string {
	switch {
	case g.Commits == nil && g.Worktree == "":
		return "–"
	case g.Commits == nil:
		return "?"
	case g.Blind != "":
		return strconv.Itoa(*g.Commits) + "+"
	}
	return strconv.Itoa(*g.Commits)
}

// pushed says whether others can see what the agent made.
func pushed(g api.ReportAgent) string {
	switch {
	case g.Worktree == "" || g.Unpushed == nil:
		return ""
	case *g.Unpushed > 0:
		return strconv.Itoa(*g.Unpushed) + " not"
	case g.Dirty != nil && *g.Dirty > 0:
		return "dirty"
	case g.Merged != nil && *g.Merged:
		return "merged"
	}
	return "yes"
}

func pulls(g api.ReportAgent) string {
	var out []string
	for _, pr := range g.Pulls {
		out = append(out, flat(pr.Name))
	}
	return strings.Join(out, ", ")
}

// checks says how the checks of each pull request stand, and what else keeps it.
func checks(g api.ReportAgent) string {
	var out []string
	for _, pr := range g.Pulls {
		if pr.Ended != "" {
			out = append(out, flat(pr.Ended))
			continue
		}
		state := flat(pr.Checks)
		if state == "" {
			state = "?"
		}
		if len(pr.Failed) > 0 {
			state += " (" + flat(strings.Join(pr.Failed, ", ")) + ")"
		}
		if pr.Conflict != nil && *pr.Conflict {
			state += ", conflict"
		}
		if pr.Review == "approved" || pr.Review == "changes requested" {
			state += ", " + pr.Review
		}
		out = append(out, state)
	}
	return strings.Join(out, "; ")
}

func cost(g api.ReportAgent) string {
	switch {
	case g.Dollars != nil:
		return cmp.Or(api.Dollars(*g.Dollars), "$0")
	case g.Tokens != nil:
		return fmt.Sprintf("%d tok", *g.Tokens)
	}
	return ""
}

// lastWord is the newest thing an agent made, or why it is as it is.
func lastWord(g api.ReportAgent) string {
	switch {
	case len(g.Made) > 0:
		return flat(g.Made[0])
	case g.Ended != "":
		return flat(g.Ended)
	case g.Failures > 0:
		return plural(g.Failures, "failure") + "; " + flat(g.Reason)
	}
	return flat(g.Reason)
}

func reportDid(p *page, r api.Report) {
	p.head("CUSTOS DID", "")
	if len(r.Did) == 0 {
		p.line("  nothing")
	}
	p.table([]column{{}, {}, {shorten: middle}, {paint: p.result}, {shorten: cut}}, each(r.Did[max(0, len(r.Did)-longest):], func(d api.ReportDeed) []string {
		return []string{clock(d.At, r.At), flat(d.Do), p.subject(d.Subject), flat(d.Result), what(d.Text, d.Subject)}
	}))
	if n := len(r.Did); n > longest {
		p.line("  %s", p.dim(fmt.Sprintf("and %d before: %s", n-longest, p.command("custos report --json"))))
	}
}

func reportRefused(p *page, r api.Report) {
	titled(p, "AND DID NOT", "", first(r.Refused, longest), []column{{}, {}, {shorten: middle}, {shorten: cut, keep: reasonKeeps}}, func(k api.ReportRefusal) []string {
		when := clock(k.At, r.At)
		if k.Now {
			when = "now"
		}
		why := flat(k.Guard)
		if k.Why != "" {
			why += ": " + flat(k.Why)
		}
		if k.Hint != "" {
			why += " → " + p.proposed(flat(k.Hint))
		}
		return []string{when, flat(k.Do), p.subject(k.Subject), why}
	})
	p.more(len(r.Refused), "custos report --json")
}

func reportAlerts(p *page, r api.Report) {
	columns := []column{{head: "BEGAN"}, {head: "ENDED"}, {head: "RULE"}, {head: "SUBJECT", shorten: middle}, {}}
	titled(p, "ALERTS", "", r.Alerts[max(0, len(r.Alerts)-longest):], columns, func(a api.ReportAlert) []string {
		began, ended, times := "before", "goes on", ""
		if a.Began != nil {
			began = clock(*a.Began, r.At)
		}
		if a.Ended != nil {
			ended = clock(*a.Ended, r.At)
		}
		if a.Times > 1 {
			times = fmt.Sprintf("%d times", a.Times)
		}
		return []string{began, ended, flat(a.Rule), p.subject(a.Subject), times}
	})
	p.more(len(r.Alerts), "custos report --json")
}

func reportEnd(p *page, r api.Report) {
	p.notSeen(r.NotSeen)
	p.line("")
	if m := r.Models; m.Calls > 0 {
		p.line("Model calls of Custos: %d, %s, %s.", m.Calls, plural(int(m.Tokens), "token"), cmp.Or(api.Dollars(m.Dollars), "$0"))
	} else {
		p.line("Model calls of Custos: none.")
	}
}
