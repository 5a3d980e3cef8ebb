package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) statusCommand() *cobra.Command {
	var line, tmux bool
	c := a.brake(&cobra.Command{
		Use:     "status",
		Example: "  custos status\n  custos status --json\n  custos status --line",
		Short:   "How Custos itself is: daemon, mode, last patrol, alerts",
		Long: `status says how Custos itself is. With --line it is one short line for the status line
of a terminal, with --tmux in the colours of tmux: how many need you, and what the agents do,
each number of what one look saw. It is the daemon's word only, at once; where none answers,
the line says that, with exit code 3. custos setup tmux puts it into tmux.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if line || tmux {
				return a.statusLine(cmd.Context(), tmux)
			}
			return a.wholeStatus(cmd, args)
		},
	})
	c.Flags().BoolVar(&line, "line", false, "one short line, of the daemon")
	c.Flags().BoolVar(&tmux, "tmux", false, "that line, in the colours of tmux")
	return c
}

// wholeStatus is status without a flag.
func (a *app) wholeStatus(cmd *cobra.Command, args []string) error {
	return asks(a, func(ctx context.Context, c *api.Client, _ []string) (api.Status, error) {
		s, err := c.Status(ctx)
		if !s.Daemon {
			s.Silent = cmp.Or(a.mute, a.untold())
		}
		return s, err
	}, writeStatus)(cmd, args)
}

func writeStatus(p *page, s api.Status) {
	daemon := "no daemon is running (" + p.command("custos up") + ")"
	if s.Silent != "" {
		daemon = flat(s.Silent)
	}
	if s.Daemon {
		daemon = fmt.Sprintf("running, pid %d", s.PID)
		if s.Started != nil {
			daemon += ", since " + s.Started.UTC().Format("2006-01-02 15:04 UTC")
		}
	}
	rows := facts{{"daemon", daemon}, {"version", flat(s.Version)}, {"mode", flat(s.Mode)}}
	rows.add("frozen", flat(s.Frozen))
	for _, project := range s.Paused {
		rows.add("paused", "project "+flat(project))
	}
	switch {
	case s.LastPatrol != nil:
		rows.add("last patrol", fmt.Sprintf("number %d, %s", s.Patrols, s.LastPatrol.UTC().Format("2006-01-02 15:04 UTC")))
	case s.Untold != "":
		rows.add("last patrol", "not known: "+flat(s.Untold)+" ("+p.command("custos patrol")+")")
	default:
		rows.add("last patrol", "no patrol yet ("+p.command("custos patrol")+")")
	}
	rows.add("next patrol", whenBy("", s.NextPatrol))
	rows.add("alerts", alertsText(s))
	if s.InFlight > 0 {
		rows.add("under way", plural(s.InFlight, "action"))
	}
	if s.Orders > 0 {
		rows.add("orders", plural(s.Orders, "order")+" not carried out yet ("+p.command("custos ps --pending")+")")
	}
	for _, g := range s.Failed {
		rows.add("given up", fmt.Sprintf("agent %s: %s; %s on record (%s)", flat(g.Agent), flat(g.Why), plural(g.Failures, "failure"), p.command("custos why agent/"+flat(g.Agent))))
	}
	rows.add("state", p.path(s.State))
	for _, n := range s.Notes {
		rows.add("note", flat(n))
	}
	p.table([]column{{paint: p.dim}, {}}, rows)
}

// alertsText says how many alerts fire, or why that is not known.
func alertsText(s api.Status) string {
	if s.Untold != "" && len(s.Firing) == 0 {
		return "not known: " + flat(s.Untold)
	}
	if s.Pending > 0 {
		return fmt.Sprintf("%s, and %d pending", firingText(s.Firing), s.Pending)
	}
	return firingText(s.Firing)
}

func firingText(firing map[string]int) string {
	var out []string
	for _, priority := range priorities() {
		if n := firing[priority]; n > 0 {
			out = append(out, fmt.Sprintf("%d × %s", n, priority))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
