package rules

import (
	"fmt"
	"strings"

	"custos/internal/fleet"
)

// Document writes the page of all rules and the vocabulary, as Markdown. The
// same Set gives the same page.
func Document(s *Set) string {
	var b strings.Builder
	b.WriteString(`# Rules

This page is made from the rule table; do not edit it.

A rule says what is wrong, how bad, and what to do. Change single keys of a rule in ` + "`custos.toml`" + `, switch one off with
` + "`enabled = false`" + `, or add your own, which starts in mode ` + "`observe`" + `:

` + "```toml" + `
[rule.disk-pressure]
expr = "mount.used_percent > 90"

[rule.agent-huge]
priority = "P3"
over     = "agent"
expr     = "agent.rss > gib(8)"
for      = "5m"
summary  = "agent.name + ' takes ' + bytes_text(agent.rss)"
` + "```" + `

`)
	writeKeys(&b)
	b.WriteString("## The table\n\n| priority | rule | over | what |\n|---|---|---|---|\n")
	for _, r := range s.rules {
		fmt.Fprintf(&b, "| %s | [%s](#%s) | %s | %s |\n", r.Priority, r.Name, r.Name, r.Over, r.What)
	}
	for _, r := range s.rules {
		writeRule(&b, r)
	}
	writeVocabulary(&b)
	return b.String()
}

func writeKeys(b *strings.Builder) {
	b.WriteString("| key | meaning |\n|---|---|\n")
	for _, row := range [][2]string{
		{"what", "one sentence for people"},
		{"priority", "P0 the host or the fleet is dying, P1 it will be soon, P2 something stopped or stalled, P3 degraded, P4 housekeeping"},
		{"over", "what it ranges over: " + strings.Join(names(Kinds()), ", ")},
		{"expr", "CEL; true means wrong. What it needs and was not seen makes the answer *cannot tell*, which fires nothing and ends nothing"},
		{"for", "how long it must stay true before it fires"},
		{"for_patrols", "in how many patrols in a row it must be true before it fires"},
		{"keep_firing_for", "how long the alert stays after it became false"},
		{"tell_after", "in how many patrols in a row it must be true before people are told; from then on it is told as a P2 at least"},
		{"summary", "CEL giving the text people read"},
		{"actions", "what to do: `do`, `targets` (a kind; left out: the subject itself), `where` (CEL), `order` (CEL, then asc or desc), `limit`, `text` (what to type, or why)"},
		{"mode", "observe, ask or auto; never more than the fleet's mode"},
		{"cooldown", "least time between two tries on one subject"},
		{"attempts", "most tries on one subject in a sliding window: 3 in 1h"},
		{"spacing", "how far those tries lie apart: growing (left out: the same), each wait is twice the last, beginning with the cooldown; even, the cooldown each time"},
		{"caused_by", "rules that explain this one: firing for the same subject, or for any subject when they are over host, mount or self; a rule that names itself is told once for all agents of one account"},
		{"runbook", "the page to read when it fires"},
		{"lists", "for a rule over convoy, gate, mail, vault or work that asks for no actions: the command that lists them. From the sixth on they are one finding, which counts them"},
		{"category", "of `custos doctor`, which tells what the rule finds as a check of that name: " + strings.Join(fleet.Categories(), ", ")},
		{"enabled", "false switches it off"},
	} {
		fmt.Fprintf(b, "| `%s` | %s |\n", row[0], row[1])
	}
	b.WriteString("\nDurations are written 90s, 2h30m or 3d.\n\n")
}

func writeRule(b *strings.Builder, r *Rule) {
	fmt.Fprintf(b, "\n### %s\n\n**%s**, over %s. %s\n\n```cel\n%s\n```\n\n", r.Name, r.Priority, r.Over, r.What, r.Expr)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, value)
		}
	}
	line("for", spanText(r.For))
	if r.ForPatrols > 0 {
		line("for", fmt.Sprintf("%d patrols in a row", r.ForPatrols))
	}
	line("keeps firing for", spanText(r.KeepFiringFor))
	if r.TellAfter > 0 {
		line("people are told after", fmt.Sprintf("%d patrols in a row", r.TellAfter))
	}
	line("says", "`"+r.Summary+"`")
	for _, a := range r.Actions {
		line("action", a.text(r))
	}
	if len(r.Actions) == 0 {
		line("action", "none: it tells people")
	}
	line("mode", string(r.Mode))
	line("cooldown", spanText(r.Cooldown))
	line("attempts", attemptsText(r.Attempts))
	line("spacing", string(r.Spacing))
	line("explained by", strings.Join(r.CausedBy, ", "))
	line("runbook", r.runbookLink())
	if r.Lists != "" {
		line("from the sixth on", "one finding of `"+string(r.Over)+"/"+fleet.Others+"`; "+r.Lists+" shows all")
	}
	line("check of custos doctor", r.Category)
	if !r.Enabled {
		line("enabled", "no")
	}
}

func (a Action) text(r *Rule) string {
	s := fmt.Sprintf("%s on the %s itself", a.Do, r.Over)
	if a.Targets != "" {
		s = fmt.Sprintf("%s on each %s", a.Do, a.Targets)
	}
	if a.Where != "" {
		s += " where `" + a.Where + "`"
	}
	if a.Order != "" {
		s += ", in the order `" + a.Order + "`"
	}
	if a.Limit > 0 {
		s += fmt.Sprintf(", at most %d at once", a.Limit)
	}
	if a.Text != "" {
		s += fmt.Sprintf(", with the words %q", a.Text)
	}
	return s
}

func (r *Rule) runbookLink() string {
	if page, ok := strings.CutPrefix(r.Runbook, "custos runbook "); ok {
		return "[" + r.Runbook + "](runbooks/" + page + ".md)"
	}
	return r.Runbook
}

func writeVocabulary(b *strings.Builder) {
	b.WriteString("\n## The vocabulary\n\nA rule reads its subject under the name of its kind, and these:\n\n| name | what |\n|---|---|\n")
	for _, v := range append(always(), joined(fleet.KindIssue)...) {
		kind := "timestamp"
		if v.typ != "" {
			kind = v.typ
		}
		if v.list {
			kind = "list of " + kind
		}
		fmt.Fprintf(b, "| `%s` | %s (%s) |\n", v.name, v.doc, kind)
	}
	b.WriteString("\nFunctions beside those of CEL (there is no has(): what was not seen is unknown by itself):\n\n| function | gives |\n|---|---|\n")
	for _, f := range functions() {
		fmt.Fprintf(b, "| `%s(%s)` | %s |\n", f.name, typeText(f.from.String()), f.doc)
	}
	for _, s := range vocabulary() {
		fmt.Fprintf(b, "\n### The words of %s\n\n%s\n\n| field | type | what |\n|---|---|---|\n", s.name, s.doc)
		for _, name := range s.order {
			f := s.fields[name]
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeText(f.typ.String()), f.doc)
		}
	}
}

// typeText names a type as people do.
func typeText(s string) string {
	s = strings.ReplaceAll(s, "custos.", "")
	return strings.NewReplacer("google.protobuf.Duration", "duration", "google.protobuf.Timestamp", "timestamp").Replace(s)
}
