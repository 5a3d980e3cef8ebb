package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) preflightCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "preflight",
		Example: "  custos preflight\n  custos preflight --json",
		Short:   "The facts, section by section, without any judgement",
		Long: `preflight prints what was seen, in the sections of a supervisor's checklist.
Every section is there even when it is empty, and says so when it could not be
seen or is not configured.`,
		RunE: asksFor(a, (*api.Client).Preflight, writePreflight),
	}
}

func writePreflight(p *page, f api.Preflight) {
	p.line("%s", p.paint(bold, "Preflight of "+flat(f.From.Host)+" · "+f.At.UTC().Format("Mon 2 Jan 2006 15:04 UTC")))
	for _, s := range f.Sections {
		p.line("")
		p.line("%s", p.paint(bold, "## "+flat(s.Title)))
		switch s.Status {
		case "ok":
		case "not-configured":
			p.line("  Not configured: %s", flat(s.Why))
			continue
		case "absent":
			p.line("  Not here: %s", flat(s.Why))
			continue
		case "stale":
			p.line("  %s", p.paint(yellow, "An old reading, or not all of it: "+flat(s.Why)))
		default:
			p.line("  %s", p.paint(yellow, "Not seen ("+flat(s.Status)+"): "+flat(s.Why)))
			continue
		}
		for _, l := range s.Lines {
			p.line("  %s", clean(l))
		}
		if len(s.Lines) == 0 {
			p.line("  None")
		}
	}
}
