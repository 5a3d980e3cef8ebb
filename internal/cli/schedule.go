package cli

import (
	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) scheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "schedule", Short: "The formulas that run by themselves",
		Example: "  custos schedule list",
	}
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "Schedules, when each is due next, its last run, and why it does not run",
		Example: "  custos schedule list",
		RunE:    asksFor(a, (*api.Client).Schedules, writeSchedules),
	})
	return c
}

// whyNotWide is how long a reason may be to stand in the table; a longer one stands
// below it, whole.
const whyNotWide = 30

// aside is a reason as the table has it, and the notes below the table with it where it
// is too long for that.
func aside(notes []string, name, why string) ([]string, string) {
	if runes(why) <= whyNotWide {
		return notes, why
	}
	return append(notes, flat(name)+": "+why), "see below"
}

// below writes notes below a table.
func (p *page) below(notes []string) {
	for _, n := range notes {
		p.line("")
		p.text(2, n)
	}
}

// exact writes the durations of a text without what is zero.
func exact(text string) string { return api.Exact(flat(text)) }

func writeSchedules(p *page, v api.Schedules) {
	if len(v.Schedules) == 0 {
		p.text(0, "No schedule. A formula runs by itself when custos.toml has a section [schedule.NAME], or when it lies in a folder of formulas of yours and has a [[schedule]].")
	}
	rows, notes := make([][]string, 0, len(v.Schedules)), []string{}
	for _, s := range v.Schedules {
		next, last := "", ""
		if len(s.NextAt) > 0 {
			next = clock(s.NextAt[0], v.At)
		}
		if s.LastAt != nil {
			last = clock(*s.LastAt, v.At) + " " + flat(s.LastDone)
		}
		why := flat(s.WhyNot)
		notes, why = aside(notes, s.Name, why)
		rows = append(rows, []string{flat(s.Name), flat(s.What()), exact(s.When), next, last, why})
	}
	p.table([]column{{head: "NAME", shorten: middle}, {head: "FORMULA", shorten: middle}, {head: "WHEN", shorten: cut}, {head: "NEXT (UTC)"}, {head: "LAST"},
		{head: "WHY NOT", shorten: cut, keep: whyNotWide}}, rows)
	p.below(notes)
	p.next(v.Next)
}
