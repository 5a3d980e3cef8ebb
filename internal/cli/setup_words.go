package cli

import (
	"cmp"
	"fmt"
	"strings"

	"custos/internal/setup"
)

// writeFound says what a look found.
func writeFound(p *page, s *setupState) {
	p.head("FOUND", "")
	clis := make([]string, len(s.CLIs))
	for i, c := range s.CLIs {
		clis[i] = strings.TrimSpace(flat(c.Kind + " " + c.Version))
		if c.Outgrown != "" {
			clis[i] += " (newer than " + flat(c.Outgrown) + ", which Custos was taught)"
		}
	}
	for _, row := range [][2]string{{"agent CLIs", strings.Join(clis, ", ")}, {"agents", agentsFound(s.Found.Agents)}, {"tmux servers", strings.Join(s.Found.Servers, ", ")}} {
		p.text(2, row[0]+": "+cmp.Or(flat(row[1]), "none"))
	}
	for _, why := range s.Found.NotSeen {
		p.text(2, p.paint(yellow, "not seen: "+flat(why)))
	}
	if len(s.Found.Places) == 0 {
		p.line("  no place where agents work")
		return
	}
	p.head("PLACES", "where agents work")
	yours := func(pl setup.Place) string {
		switch {
		case pl.Unfit != "":
			return "no: " + flat(pl.Unfit)
		case pl.Mine:
			return "yes"
		case pl.Wide:
			return "only if you say so: your home lies in it"
		case pl.Agents == 0:
			return "no agent works there"
		}
		return "not only agents of yours, or not known"
	}
	rows := make([][]string, len(s.Found.Places))
	for i, pl := range s.Found.Places {
		rows[i] = []string{fmt.Sprint(i + 1), p.path(pl.Path), placeKind(pl), plural(pl.Agents, "agent"), yours(pl)}
	}
	p.table([]column{{right: true}, {shorten: middle}, {}, {}, {head: "YOURS", fold: true}}, rows)
}

func placeKind(pl setup.Place) string {
	if !pl.Repository {
		return "folder"
	}
	if pl.Worktrees == 0 {
		return "repository"
	}
	return "repository, " + plural(pl.Worktrees, "worktree")
}

func agentsFound(list []setup.Agent) string {
	out := make([]string, 0, len(list))
	for _, g := range first(list, mostAgents) {
		out = append(out, g.Name)
	}
	if len(out) > 0 {
		out[0] = fmt.Sprintf("%d: %s", len(list), out[0])
	}
	if n := len(list) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}

// writeSetup says what was found and done.
func writeSetup(p *page, s *setupState) {
	if s.asked == nil {
		writeFound(p, s)
	}
	title := "DONE"
	if s.DryRun {
		title = "WOULD DO"
	}
	p.head(title, "")
	if s.DryRun {
		writeSetupChanges(p, s)
	}
	for _, c := range s.Changes {
		if s.DryRun {
			break
		}
		line := c.Did + " " + p.path(c.Path) + " (" + c.What + ")"
		if c.Why != "" {
			line = p.path(c.Path) + " is left: " + c.Why
		}
		p.text(2, line)
	}
	for _, kind := range s.Hooks {
		if !s.DryRun {
			p.line("  hooks of %s", flat(kind))
		}
	}
	if len(s.Changes)+len(s.Hooks) == 0 {
		p.line("  nothing")
	}
	for _, note := range s.Notes {
		p.text(2, note)
	}
	if len(s.Told) > 0 {
		p.text(2, "a test message was sent to "+flat(strings.Join(s.Told, ", "))+": see whether it arrived")
	}
	p.next(s.Next)
}
