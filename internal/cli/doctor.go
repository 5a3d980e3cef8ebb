package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// errBad ends doctor with code 1: it worked, and something is bad.
var errBad = fmt.Errorf("something is bad: %w", errAlarm)

func (a *app) doctorCommand() *cobra.Command {
	var fix, yes bool
	c := &cobra.Command{
		Use: "doctor [CATEGORY…]", Short: "What is wrong with the installation, and what mends it",
		Long: `doctor looks at the installation and at what Custos stands on: one line a check,
ok, warn, bad or cannot tell, with the reason and the command that mends it. It
changes nothing.

With --fix it then shows what of that Custos itself can mend, with the exact
commands, and does it when you confirm: exactly that, through the same guards and
the same ledger as any action, and by the rule whose alert it is. What is bad and
not in that plan is for you: its command stands beside it.

Categories: dependencies, structure, config, databases, consistency, agents, logs,
locks, sessions, worktrees, hooks, formulas, schedules, forge, merge-queue, ci,
containers, chat, disk, clock, security, service, version. Without one, all of them.

It works without a daemon, and with a configuration that cannot be read: what needs
it is then not known. With a daemon, the daemon looks.

Exit codes: 0 nothing is bad · 1 something is, or could not be mended · 2 there is
no such category, or no yes was given.`,
		Example: "  custos doctor\n  custos doctor security disk\n  custos doctor --fix\n  custos doctor --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case fix:
				return a.fix(cmd.Context(), args, yes)
			case yes:
				return usage("cannot say yes to nothing: --yes is for --fix")
			}
			d, err := a.examine(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.shown(d, func(p *page) { writeDoctor(p, d); hintFix(p, d, args) })
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "show what Custos can mend of it, and do it when you say yes")
	c.Flags().BoolVar(&yes, "yes", false, "with --fix: do not ask")
	return c
}

// hintFix says that some of it can be mended by Custos.
func hintFix(p *page, d api.Doctor, categories []string) {
	if len(d.Fix.Actions) > 0 {
		p.next([]api.Hint{{Command: shell(append([]string{"custos", "doctor", "--fix"}, categories...)), What: "show what of it Custos can mend, and mend it when you say yes"}})
	}
}

// examine asks what answers. Where nothing can be put together that does, because of
// the configuration, it is what can be found out without it.
func (a *app) examine(ctx context.Context, categories []string) (api.Doctor, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer a.progress("looking").end()
	c, closer, err := a.client(ctx)
	if beside := a.beside(ctx, err); beside != nil {
		c, closer, err = beside, beside.Close, nil
	}
	if err != nil && ctx.Err() == nil {
		return doctorAlone(ctx, a.Version, err, categories)
	}
	if err != nil {
		return api.Doctor{}, err
	}
	defer closer()
	return c.Doctor(ctx, categories, a.Version)
}

// beside finds the daemon that runs on with what it read before the file of its
// configuration broke; nil when there is none, or that is not what is wrong.
func (a *app) beside(ctx context.Context, cause error) *api.Client {
	left, err := config.Salvage(a.options())
	if !isMistake(cause) || err != nil {
		return nil
	}
	a.conf = &left
	c, err := a.reach(ctx)
	if err != nil {
		a.conf = nil
		return nil
	}
	return c
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
	writeCounts(p, d.Counts)
}

func writeCounts(p *page, n api.DoctorCounts) {
	p.line("")
	p.line("%d ok, %d to look at, %d bad, %d not known.", n.OK, n.Warn, n.Bad, n.Cannot)
}

// The widths of the columns of a check: its state, its category and its name.
const (
	stateWide    = 11
	categoryWide = 12
	nameWide     = 21
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
		p.line("%s→ %s", strings.Repeat(" ", indent), p.proposed(flat(c.Command)))
	}
}

// checkState is the state, as wide as its column.
func (p *page) checkState(s string) string {
	colour := map[string]string{api.CheckOK: green, api.CheckWarn: yellow, api.CheckCannot: cyan, api.CheckBad: red}[s]
	return p.paint(colour, fmt.Sprintf("%-*s", stateWide, flat(s)))
}
