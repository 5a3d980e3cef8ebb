package api

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// StateWord is what may be done with work: "ready", "waits", "in a circle", or else its state.
func (w Work) StateWord() string {
	switch {
	case w.Ready:
		return "ready"
	case len(w.Cycle) > 0:
		return "in a circle"
	case w.State == "open" && (len(w.BlockedBy) > 0 || w.Held != ""):
		return "waits"
	}
	return w.State
}

// Holder is who has the work, and whether that agent is gone; "" for nobody.
func (w Work) Holder() string {
	if w.Gone {
		return w.Agent + " (gone)"
	}
	return w.Agent
}

// StateWord is the state of a gate in a word or two: its outcome, "due", "overdue", "not seen" or "waits".
func (g Gate) StateWord() string {
	switch {
	case g.Outcome != "":
		return g.Outcome
	case g.Closing:
		return "due"
	case g.Overdue != "":
		return "overdue"
	case g.Blind:
		return "not seen"
	}
	return "waits"
}

// StateWord is the state of a convoy, or "overdue".
func (c Convoy) StateWord() string {
	if c.Overdue != "" && c.State == "open" {
		return "overdue"
	}
	return c.State
}

// Progress is how many of its members are closed.
func (c Convoy) Progress() string { return fmt.Sprintf("%d of %d closed", c.Closed, len(c.Members)) }

// Count writes a number that may not be known: "?" then.
func Count(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// Writer is who wrote a mail, with the kind: an agent may be called as a person is.
func (m Mail) Writer() string {
	switch m.FromKind {
	case "person":
		return m.From + " (a person)"
	case "agent":
		return "agent/" + m.From
	}
	return m.From
}

// Says is what became of a copy of a mail.
func (c MailCopy) Says() string {
	text := c.State
	if !c.ToldAt.IsZero() {
		text += ", notified at " + c.ToldAt.UTC().Format("15:04:05 UTC")
	}
	return strings.TrimSuffix(text+": "+c.Why, ": ")
}

// News is what a run is at, or why it ended.
func (r Run) News() string {
	if r.Why != "" {
		return r.Why
	}
	var at []string
	for _, s := range r.Steps {
		if s.State == "running" || s.State == "needs a person" {
			at = append(at, s.ID)
		}
	}
	return strings.Join(at, ", ")
}

// News is what there is to say of a step, besides what its run says already.
func (s RunStep) News(told string) string {
	var out []string
	for _, w := range []string{s.Why, s.Note} {
		if w != "" && w != told {
			out = append(out, w)
		}
	}
	if s.Output != "" && s.Do == "uses" { // of a command it is the name of a file
		out = append(out, s.Output)
	}
	return strings.Join(out, "; ")
}

// What is the formula of a schedule, and its project.
func (s ScheduleRow) What() string {
	return strings.TrimSuffix(s.Formula+" @ "+s.Project, " @ ")
}

// Share is how much of a budget is used: "?" where that is not known.
func (b Budget) Share() string {
	if b.Percent == nil {
		return "?"
	}
	return Percent(*b.Percent)
}

// Percent writes a share in whole percent that are reached: 99.7 is no 100 yet, and what is not nothing is no 0.
func Percent(share float64) string {
	if share > 0 && share < 1 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", math.Floor(share))
}

// StageUnknown is the stage of a budget of which what is known to be spent reaches nothing, and more may be spent.
const StageUnknown = "unknown"

// StageWord is how far a budget has come: unknown where what was spent is not known, and what is known to be spent
// reaches nothing.
func (b Budget) StageWord() string {
	if b.Used == nil && b.Stage == "under" {
		return StageUnknown
	}
	return b.Stage
}

// Holds is whom a budget holds back.
func (b Budget) Holds() string {
	return cmp.Or(strings.Join(b.Agents, ", "), "what would spend of it")
}

// AndMore are the words behind a list for n that it does not name, or for at least n.
func AndMore(n int, atLeast bool) string {
	if atLeast {
		return fmt.Sprintf(" and at least %d more", n)
	}
	return fmt.Sprintf(" and %d more", n)
}

// Says is what was wrong, with where it was seen last.
func (f CostFault) Says() string {
	return fmt.Sprintf("Counted in part, or not: of %s, %s (last %s: %s)", f.Kind, f.Why, f.At.UTC().Format("2006-01-02 15:04 UTC"), f.Places())
}

// Dollars writes money: nothing for none, cents from a dollar on, and of less three digits that tell something, down to
// millionths of a dollar.
func Dollars(usd float64) string {
	if usd == 0 {
		return ""
	}
	digits := 2
	for least := 1.0; digits < 6 && math.Abs(usd) < least; least /= 10 {
		digits++
	}
	text := strconv.FormatFloat(usd, 'f', digits, 64)
	for digits > 2 && strings.HasSuffix(text, "0") {
		text, digits = text[:len(text)-1], digits-1
	}
	return "$" + text
}

// Tokens writes a number of tokens in four characters or so: 980, 12k, 3.4M, 1.2G; nothing for none.
func Tokens(n int64) string {
	f := float64(n)
	switch {
	case n == 0:
		return ""
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case n < 99_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	case n < 999_500_000:
		return fmt.Sprintf("%.0fM", f/1e6)
	}
	return fmt.Sprintf("%.1fG", f/1e9)
}

// Span shortens the text of a duration for people: "1h30m0s" is "1h30m", "50h0m0s" is "2d2h"; "?" for what is none.
func Span(s string) string {
	d, err := time.ParseDuration(s)
	if err != nil {
		return "?"
	}
	return SpanOf(d)
}

// SpanOf writes a duration for people, two units at most: "45s", "3h12m", "2d4h"; "0s" for what is below zero.
func SpanOf(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 24*time.Hour:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	}
	return two(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

// Size writes bytes for people: "512 B", "1.4 GiB".
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, u := float64(n)/1024, 0
	for f >= 1023.5 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	if f >= 9.95 {
		return fmt.Sprintf("%.0f %ciB", f, units[u])
	}
	return fmt.Sprintf("%.1f %ciB", f, units[u])
}

func two(a int, unitA string, b int, unitB string) string {
	if b == 0 {
		return strconv.Itoa(a) + unitA
	}
	return strconv.Itoa(a) + unitA + strconv.Itoa(b) + unitB
}

// zeroSeconds ends a duration as programs write it.
const zeroSeconds = `\b(\d+h)?(\d+m)0s\b`

// Exact writes the durations of a text without what is zero: "1h0m0s" is "1h", and "20m0s" is "20m".
func Exact(text string) string {
	return regexp.MustCompile(zeroSeconds).ReplaceAllStringFunc(text, func(d string) string {
		d = strings.TrimSuffix(d, "0s")
		if hours, whole := strings.CutSuffix(d, "h0m"); whole {
			return hours + "h"
		}
		return d
	})
}
