package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) planCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:     "plan",
		Example: "  custos plan\n  custos plan --json",
		Short:   "What `custos patrol --apply` would do, with the exact commands",
		Long: `plan looks, and says what Custos would do and what it would not, and why; and what
becomes of records by itself: gates, steps, runs, mail, pools, or what holds it back.
It changes nothing.
Beside what a person's order would begin now stands what the daemon itself still
waits for, and until when.
With --recording it judges a recording instead of this machine: the same
recording gives the same plan, byte for byte, anywhere.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			recording, err := a.input(file, "recording", largestRecording)
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Plan, error) {
				if recording != nil {
					return c.Judge(ctx, recording)
				}
				return c.Plan(ctx)
			}, func(p *page, v api.Plan) {
				if recording != nil { // its paths are of another machine, and the same bytes anywhere
					p.home = ""
				}
				writePlan(p, v)
			})
		},
	}
	c.Flags().StringVar(&file, "recording", "", "judge this `FILE` of custos record instead; - is the standard input")
	return c
}

func writePlan(p *page, v api.Plan) {
	p.line("%s · %s", p.paint(bold, "Plan"), v.At.UTC().Format("Mon 2 Jan 2006 15:04 UTC"))
	if len(v.Unsaid) > 0 {
		p.text(0, "in a pid namespace of its own: nothing that ["+flat(strings.Join(v.Unsaid, "] and ["))+"] name is removed until custos.toml says foreign_namespace = false there")
	}
	p.head("WOULD DO", "")
	if len(v.Actions) == 0 {
		p.line("  nothing")
	}
	for _, d := range v.Actions {
		writeDeed(p, d, v.At)
	}
	writeMoves(p, v.Moves)
	writeHeld(p, v.Held, v.At)
	writeRefusals(p, v)
	patrolDoubts(p, v.CannotTell)
	titled(p, "NO ACTION ASKED FOR", "", v.Idle, []column{{}, {shorten: middle}}, func(i api.Idle) []string {
		return []string{flat(i.Rule), p.subject(i.Subject)}
	})
}

// writeDeeds is a section of what would be done; none where that is nothing.
func writeDeeds(p *page, list []api.Deed, at time.Time) {
	if len(list) == 0 {
		return
	}
	p.head("WOULD DO", "")
	for _, d := range list {
		writeDeed(p, d, at)
	}
}

// writeDeed writes an action with its commands, whole: they are to be read.
func writeDeed(p *page, d api.Deed, at time.Time) {
	p.line("  %s  %s  %s", p.priority(d.Priority), p.paint(bold, flat(d.Do)), p.subject(d.Subject))
	p.text(6, flat(d.Rule)+": "+flat(d.Why))
	if d.Held != nil {
		p.text(6, "by itself "+heldWords(*d.Held, at))
		if d.Held.Hint != "" {
			p.line("      %s %s", p.dim("→"), p.proposed(flat(d.Held.Hint)))
		}
	}
	for _, c := range d.Commands {
		line := "      $ " + flat(shell(c.Argv))
		if len(c.Argv) == 0 {
			line = "     "
		}
		if c.Note != "" {
			line += "  " + p.dim("# "+flat(c.Note))
		}
		p.line("%s", line)
	}
}

// heldWords says what holds an action back, and until when.
func heldWords(r api.Refusal, at time.Time) string {
	why := flat(r.Guard) + ": " + flat(r.Why) + andMore(r.Also)
	if r.Until == nil {
		return "not now: " + why
	}
	return "not before " + due(*r.Until, at) + ": " + why
}

// andMore says how much else holds what waits.
func andMore(also []string) string {
	if len(also) == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", len(also))
}

// writeMoves writes what becomes of records.
func writeMoves(p *page, list []api.Move) {
	if len(list) == 0 {
		return
	}
	p.head("WOULD CHANGE", fmt.Sprint(len(list)))
	for _, m := range list {
		writeMove(p, m)
	}
}

func writeMove(p *page, m api.Move) {
	p.line("  %s  %s", p.subject(m.Record), p.paint(bold, flat(change(m))))
	if m.Why != "" {
		p.text(6, flat(m.Why))
	}
	if len(m.Told) > 0 {
		p.text(6, "notifies "+flat(strings.Join(m.Told, ", ")))
	}
}

// writeHeld writes what would become of records, and does not.
func writeHeld(p *page, list []api.HeldMove, at time.Time) {
	if len(list) == 0 {
		return
	}
	p.head("HELD BACK", fmt.Sprint(len(list)))
	for _, m := range list {
		writeMove(p, m.Move)
		p.text(6, heldBy(m.Guard, m.Held, m.Until, at))
		if m.Hint != "" {
			p.line("      %s %s", p.dim("→"), p.proposed(flat(m.Hint)))
		}
	}
}

// heldBy says what holds something back, and until when.
func heldBy(guard, why string, until *time.Time, at time.Time) string {
	out := flat(guard) + ": " + flat(why)
	if until != nil {
		out += ", until " + due(*until, at)
	}
	return out
}

func change(m api.Move) string {
	if m.From == "" {
		return m.To
	}
	return m.From + " → " + m.To
}

func writeRefusals(p *page, v api.Plan) {
	if len(v.Skipped) == 0 {
		return
	}
	p.head("SKIPPED", fmt.Sprint(len(v.Skipped)))
	for _, r := range v.Skipped {
		p.line("  %s  %s  %s", p.priority(r.Priority), flat(r.Do), p.subject(r.Subject))
		p.text(6, heldBy(r.Guard, r.Why, r.Until, v.At))
		for _, also := range r.Also {
			p.text(6, "and "+flat(also))
		}
		if r.Hint != "" {
			p.line("      %s %s", p.dim("→"), p.proposed(flat(r.Hint)))
		}
	}
}
