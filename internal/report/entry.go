package report

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// most is how many lines of one list a journal entry shows, so that an entry
// stays within the seed's 15 to 25 lines on an ordinary day.
const most = 8

// Entry returns the journal entry of a patrol, in Markdown: what the health
// was, what was found and what was done about it. done are the results since
// the last patrol, replies what people said since then and what became of it. It is a
// pure function.
func Entry(p fleet.Pass, done []fleet.Result, replies []string) string {
	var b strings.Builder
	at := p.Snapshot.At.Wall.UTC()
	fmt.Fprintf(&b, "## Supervisor run — %s UTC\n\n", at.Format("15:04"))
	fmt.Fprintf(&b, "Patrol %d on %s\n\n", p.Number, p.Snapshot.From.Host)
	list(&b, "Health status", health(p), "")
	list(&b, "Findings", append(findings(p, done), held(p)...), nothing(p))
	list(&b, "Actions taken", actions(done), "No actions needed")
	list(&b, "Escalation replies processed", replies, "None")
	return b.String()
}

func list(b *strings.Builder, title string, lines []string, none string) {
	b.WriteString("### " + title + "\n")
	if len(lines) == 0 {
		lines = []string{none}
	}
	for i, l := range lines {
		if i == most && len(lines) > most+1 {
			fmt.Fprintf(b, "- … and %d more (custos alerts --all)\n", len(lines)-most)
			break
		}
		b.WriteString("- " + l + "\n")
	}
	b.WriteString("\n")
}

func health(p fleet.Pass) []string {
	h := p.Snapshot.Host.Value
	lines := []string{
		fmt.Sprintf("RAM: %s available, Swap: %s", megabytes(h.Memory.Available), megabytes(h.Swap.Used)),
		"Disk: " + percent(fullest(h.Mounts)),
		"Load: " + number(h.Load.One),
		fmt.Sprintf("Agents: %d", len(p.Snapshot.Agents.Value)),
	}
	lines = append(lines, elsewhere(p.Snapshot)...)
	for _, name := range fleet.PartNames() {
		if s := p.Snapshot.Sight(name); !s.Fresh() {
			lines = append(lines, fmt.Sprintf("Not seen: %s (%s: %s)", name, s.Status, s.Why))
		} else if s.Cut != "" {
			lines = append(lines, fmt.Sprintf("Not all seen: %s (%s)", name, s.Cut))
		}
	}
	return lines
}

// findings says of each firing finding what is done about it.
func findings(p fleet.Pass, done []fleet.Result) (lines []string) {
	for _, f := range p.Assessment.Findings {
		if f.Firing {
			lines = append(lines, fmt.Sprintf("[%s] %s: %s — %s", f.Priority, f.Rule, f.Summary, answer(f.AlertKey, p.Plan, done)))
		}
	}
	return lines
}

// held says of each alert that stands, and cannot be seen now, why not.
func held(p fleet.Pass) (lines []string) {
	for _, a := range p.Assessment.Alerts {
		if a.Status == fleet.AlertFiring && a.Blind != "" {
			lines = append(lines, fmt.Sprintf("%s — whether it still is, is not known: %s", line(a), a.Blind))
		}
	}
	return lines
}

// nothing is what is said where nothing was found: what was not seen is not healthy.
func nothing(p fleet.Pass) string {
	if n := len(p.Assessment.Blind); n > 0 {
		is := " are"
		if n == 1 {
			is = " is"
		}
		return "No issues found, as far as is known: " + fleet.Counted(n, "answer") + is + " not known (custos preflight)"
	}
	return "No issues found — all systems healthy"
}

func answer(key fleet.AlertKey, plan fleet.Plan, done []fleet.Result) string {
	for _, r := range done {
		if r.For == key {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s %s%s", r.Do, r.Status, r.Effect, r.Why), " ")
		}
	}
	for _, a := range plan.Actions {
		if a.For == key {
			return a.Do + " begun"
		}
	}
	for _, s := range plan.Skipped {
		if s.For == key {
			return fmt.Sprintf("%s not done: %s", s.Do, s.Why)
		}
	}
	return "for a person to see"
}

// outcome says what became of an action, in one line.
func outcome(r fleet.Result) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s %s%s", r.Do, r.Subject.Name, r.Status, r.Effect, r.Why), " ")
}

func actions(done []fleet.Result) (lines []string) {
	for _, r := range done {
		line := outcome(r)
		if r.For.Rule != "" {
			line += " (" + r.For.Rule + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
