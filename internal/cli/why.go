package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "why [not] NUMBER|NAME|PATH",
		Short: "The story of anything: an alert's number, an agent, a path, a rule",
		Long: `why shows what is seen of a thing now, what is wrong with it, what Custos would
do about it or would not and why, and what was written down about it before.
Named is an alert by its number, an agent, a rule or an action by its name, a path,
kind/name, or an unmistakable piece of a name.
why not shows only what holds back what would be done or would follow, and until when:
of agents and paths, and of gate/g1, mail/m2, run/r3, schedule/nightly, pool/dev.
An agent called not is custos why agent/not.`,
		Example: "  custos why 3\n  custos why builder\n  custos why ./worktrees/one\n  custos why disk-pressure\n  custos why not gate/g1",
		RunE: func(cmd *cobra.Command, args []string) error {
			write := writeStory
			switch {
			case len(args) == 1 && args[0] == "not":
				return &api.Error{Kind: api.BadInput, Message: "cannot say why not: name what it is about: custos why not NAME", Hint: helpFor(cmd)}
			case len(args) == 2 && args[0] != "not":
				return usage("cannot show %q and %q at once: one thing at a time, or custos why not %s", args[0], args[1], args[1])
			case len(args) == 2:
				args, write = args[1:], writeWhyNot
			}
			of, err := absolute(args[0])
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Story, error) { return c.Story(ctx, of) }, write)
		},
	}
}

// writeWhyNot writes of a story only what holds something back, or that nothing does.
func writeWhyNot(p *page, s api.Story) {
	p.line("%s", p.paint(bold, p.subject(s.Subject)))
	for _, f := range slices.Concat(s.Facts, s.Shown) {
		p.text(2, f)
	}
	writeHeld(p, s.Held, s.At)
	skipped := slices.Clone(s.Skipped)
	for _, d := range s.Planned {
		if d.Held != nil { // it waits for a person's word
			skipped = append(skipped, *d.Held)
		}
	}
	writeRefusals(p, api.Plan{At: s.At, Skipped: skipped})
	patrolDoubts(p, s.Doubts)
	if len(s.Held)+len(skipped)+len(s.Doubts) > 0 {
		return
	}
	p.line("")
	if len(s.Planned)+len(s.Moves) > 0 {
		p.line("Nothing is held back: the next pass does all that follows.")
	} else {
		p.line("Nothing is held back: nothing would be done about it now.")
	}
}

// absolute turns a path that is meant from here into one the daemon
// understands. Anything else it leaves alone.
func absolute(x string) (string, error) {
	if x != "." && x != ".." && !strings.HasPrefix(x, "./") && !strings.HasPrefix(x, "../") {
		if len(x) > 1 {
			x = strings.TrimSuffix(x, "/")
		}
		return x, nil
	}
	abs, err := filepath.Abs(x)
	if err != nil {
		return "", fmt.Errorf("cannot find path %q: %w", x, err)
	}
	return abs, nil
}

func writeStory(p *page, s api.Story) {
	p.line("%s", p.paint(bold, p.subject(s.Subject)))
	for _, f := range slices.Concat(s.Facts, s.Shown) {
		p.text(2, f)
	}
	if len(s.Alerts) > 0 {
		p.head("ALERTS", "")
		for _, al := range s.Alerts {
			storyAlert(p, al)
		}
	}
	writeDeeds(p, s.Planned, s.At)
	writeMoves(p, s.Moves)
	writeHeld(p, s.Held, s.At)
	writeRefusals(p, api.Plan{At: s.At, Skipped: s.Skipped})
	patrolDoubts(p, s.Doubts)
	titled(p, "WHAT WAS WRITTEN DOWN", "", s.Events, []column{{paint: p.dim}, {}, {shorten: middle}, {shorten: cut}}, func(e api.Event) []string {
		return []string{e.At.UTC().Format("2006-01-02 15:04:05"), flat(e.Kind), stepOf(e, s.Subject), flat(e.Text)}
	})
	if len(s.Alerts)+len(s.Planned)+len(s.Moves)+len(s.Held)+len(s.Skipped)+len(s.Doubts) == 0 {
		p.line("")
		p.line("No rule has anything against it.")
	}
	p.next(s.Next)
}

// stepOf is the step that an event of a run's story is about; "" for any other.
func stepOf(e api.Event, subject string) string {
	step, ok := strings.CutPrefix(e.Subject, subject+"/")
	if !ok || !strings.HasPrefix(subject, "run/") {
		return ""
	}
	return flat(step)
}

func storyAlert(p *page, al api.Alert) {
	number := ""
	if al.Number > 0 {
		number = fmt.Sprintf("#%d ", al.Number)
	}
	state := flat(al.Status)
	if special := alertState(al); special != "" {
		state = special
	}
	p.line("  %s  %s%s  %s", p.priority(al.Priority), number, p.paint(bold, flat(al.Rule)), p.dim(state+", for "+api.Span(al.For)))
	p.text(6, al.Summary)
	for _, e := range al.Evidence {
		p.line("      %s = %s", flat(e.Expr), flat(e.Value))
	}
	for _, c := range al.CausedBy {
		p.line("      explained by %s", flat(c))
	}
	if al.ToldBy != "" {
		p.line("      people are told of it by %s", flat(al.ToldBy))
	}
	if al.Runbook != "" {
		p.line("      runbook: %s", flat(al.Runbook))
	}
}
