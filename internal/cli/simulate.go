package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// errMissed ends a simulation with code 1: it was shown, and a want is not met.
var errMissed = errors.New("a want is not met")

// largestStory caps a file of stories.
const largestStory = 4 << 20

func (a *app) simulateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "simulate FILE",
		Short: "What Custos would think and plan in a story that you write",
		Long: `simulate reads stories: what is seen at some moments, such as an agent's screen or a
disk that fills up, and what you want of it. It shows the states that follow, the
alerts and the plan at each moment, by your custos.toml or by one in the file, and
ends with 1 where a want is not met. It looks at nothing of this machine and does
nothing. custos help simulate.md has the language; - is the standard input.`,
		Example: "  custos simulate night.txtar\n  custos simulate --json night.txtar",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.input(args[0], "story", largestStory)
			if err != nil {
				return err
			}
			conf, err := a.config()
			if err != nil {
				return err
			}
			at := a.progress("playing the stories")
			v, err := a.Daemon.Simulate(cmd.Context(), conf, args[0], text)
			at.end()
			if err != nil {
				return err
			}
			if err := a.show(v, func(p *page) { writeSimulation(p, v) }); err != nil || len(v.Missed) == 0 {
				return err
			}
			return errMissed
		},
	}
}

func writeSimulation(p *page, v api.Simulation) {
	for _, s := range v.Stories {
		p.head(s.Name, "")
		for _, m := range s.Moments {
			writeMoment(p, m)
		}
	}
	if len(v.Missed) > 0 {
		p.head("NOT AS WANTED", fmt.Sprint(len(v.Missed)))
		for _, m := range v.Missed {
			p.line("  %s:%d: %s", flat(v.File), m.Line, p.paint(bold, flat(m.Want)))
			p.text(6, flat(m.Says))
		}
		return
	}
	p.line("")
	if v.Wants == 0 {
		p.line("%s; to have it judged, say what you want: custos help simulate.md", plural(len(v.Stories), "story"))
		return
	}
	p.line("%s, %s: all as wanted.", plural(len(v.Stories), "story"), plural(v.Wants, "want"))
}

func writeMoment(p *page, m api.SimulatedMoment) {
	p.line("  %s", p.paint(bold, "at "+m.After))
	for _, a := range m.Agents {
		why := ""
		if a.Reason != "" {
			why = ": " + a.Reason + " (" + a.Source + ")"
		}
		p.text(4, flat("agent/"+a.Name+" is "+a.State+why))
	}
	for _, a := range m.Alerts {
		p.text(4, p.priority(a.Priority)+" "+flat(a.Rule+" "+a.Subject+", "+a.Status+": "+a.Summary))
	}
	for _, d := range m.Actions {
		p.text(4, p.paint(bold, "would "+flat(d.Do+" "+d.Subject))+flat(", by "+strings.TrimSpace(d.Rule)+": "+d.Why))
	}
	for _, s := range m.Skipped {
		p.text(4, flat("would not "+s.Do+" "+s.Subject+": "+s.Guard+": "+s.Why))
	}
	for _, c := range m.Moves {
		p.text(4, flat(c.Record+": "+change(c)))
	}
	for _, c := range m.Held {
		p.text(4, flat(c.Record+" stays: "+c.Guard+": "+c.Held))
	}
	writeUntold(p, m.CannotTell)
}

// writeUntold says once of each subject which rules have no answer about it.
func writeUntold(p *page, list []api.Doubt) {
	rules, order := map[string][]string{}, []string{}
	for _, c := range list {
		if rules[c.Subject] == nil {
			order = append(order, c.Subject)
		}
		rules[c.Subject] = append(rules[c.Subject], c.Rule)
	}
	for _, subject := range order {
		p.text(4, p.dim(flat("cannot tell about "+subject+": "+strings.Join(rules[subject], ", "))))
	}
}
