package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/daemon"
)

// errBad ends doctor with code 1: it worked, and something is bad.
var errBad = fmt.Errorf("something is bad: %w", errAlarm)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor [CATEGORY…]", Short: "What is wrong with the installation, and what mends it",
		Long: `doctor looks at the installation and at what Custos stands on: one line a check,
ok, warn, bad or cannot tell, with the reason and the command that mends it. It
changes nothing, and there is no --fix: Custos's own actions are under custos plan.

Categories: dependencies, structure, config, databases, consistency, agents, logs,
sessions, worktrees, hooks, formulas, schedules, forge, ci, containers, chat, disk,
clock, security, version. Without one, all of them.

It works without a daemon, and with a configuration that cannot be read: what needs
it then cannot be told. With a daemon, the daemon looks.

Exit codes: 0 nothing is bad · 1 something is · 2 there is no such category.`,
		Example: "  custos doctor\n  custos doctor security disk\n  custos doctor --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.examine(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := a.show(d, func(p *page) { writeDoctor(p, d) }); err != nil {
				return err
			}
			if d.Counts.Bad > 0 {
				return errBad
			}
			return nil
		},
	}
}

// examine asks who answers. Where nobody can be put together who does, because of
// the configuration, it is what can be found out without it.
func (a *app) examine(ctx context.Context, categories []string) (api.Doctor, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := a.progress()
	defer done()
	c, closer, err := a.client(ctx)
	if err != nil && ctx.Err() == nil {
		return daemon.DoctorOf(ctx, a.Version, err, categories)
	}
	if err != nil {
		return api.Doctor{}, err
	}
	defer closer()
	return c.Doctor(ctx, categories, a.Version)
}

func writeDoctor(p *page, d api.Doctor) {
	who := "this command looked; no daemon answers"
	if d.Daemon {
		who = "the daemon looked"
	}
	p.line("%s · %s", p.paint(bold, "custos "+flat(d.Version)), who)
	p.line("")
	for _, c := range d.Checks {
		writeCheck(p, c)
	}
	p.line("")
	n := d.Counts
	p.line("%d ok, %d to look at, %d bad, %d cannot be told.", n.OK, n.Warn, n.Bad, n.Cannot)
}

// The widths of the columns of a check: its state, its category and its name.
const (
	stateWide    = 11
	categoryWide = 12
	nameWide     = 11
)

// writeCheck writes one check whole: a reason is never shortened, and a command
// can be copied.
func writeCheck(p *page, c api.DoctorCheck) {
	const indent = stateWide + 1 + categoryWide + 1 + nameWide + 1
	why := wrap(p.path(flat(c.Why)), max(p.width-indent, 30))
	p.line("%s %-*s %-*s %s", p.checkState(c.State), categoryWide, flat(c.Category), nameWide, flat(c.Name), why[0])
	for _, more := range why[1:] {
		p.line("%s%s", strings.Repeat(" ", indent), more)
	}
	if c.Command != "" && c.State != api.CheckOK {
		p.line("%s→ %s", strings.Repeat(" ", indent), p.command(flat(c.Command)))
	}
}

// checkState is the state, as wide as its column.
func (p *page) checkState(s string) string {
	colour := map[string]string{api.CheckOK: green, api.CheckWarn: yellow, api.CheckCannot: cyan, api.CheckBad: red}[s]
	return p.paint(colour, fmt.Sprintf("%-*s", stateWide, flat(s)))
}
