package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) lookCommand() *cobra.Command {
	var version bool
	c := &cobra.Command{
		Use:   "custos",
		Short: "The init system and on-call engineer for fleets of AI coding agents",
		Long: `custos alone is the first look: what needs you, every agent with its state and
how that is known, stale worktrees, what Custos could do, and what it would not
and why. It changes nothing, calls no model, and needs no configuration.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.showVersion()
			}
			if err := a.checkFailOn(); err != nil {
				return err
			}
			l, err := ask(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.FirstLook, error) { return c.FirstLook(ctx) }, writeLook)
			if err != nil {
				return err
			}
			var bad []string
			for _, n := range l.NeedsYou {
				if n.Rule == "" {
					continue // no alert yet
				}
				bad = append(bad, n.Priority)
			}
			if l.Housekeeping > 0 {
				bad = append(bad, "P4")
			}
			return a.alarm(bad)
		},
	}
	c.Flags().BoolVar(&version, "version", false, "print the version of this program, and do nothing else")
	a.failOnFlag(c)
	return c
}

// longest is how many rows a section of the first look shows; --json has all.
const longest = 12

// reasonKeeps is how much of a reason stands, whatever else must be shortened.
const reasonKeeps = 30

// mostAgents is how many agents it shows; they are sorted by how much they need
// attention.
const mostAgents = 50

func writeLook(p *page, l api.FirstLook) {
	lookHead(p, l)
	lookNeeds(p, l)
	lookAgents(p, l)
	lookWorktrees(p, l)
	lookCouldDo(p, l)
	lookSkipped(p, l.Skipped, l)
	patrolDoubts(p, l.CannotTell)
	lookSeen(p, l.Seen)
	p.next(l.Next)
	p.line("")
	p.line("%s", p.dim(fmt.Sprintf("Nothing was changed. Model calls: %d.", l.ModelCalls)))
}

func lookHead(p *page, l api.FirstLook) {
	who := "custos"
	if l.From.Version != "" {
		who += " " + flat(l.From.Version)
	}
	p.line("%s on %s · %s · mode %s", p.paint(bold, who), flat(l.From.Host),
		l.At.UTC().Format("Mon 2 Jan 2006 15:04 UTC"), flat(l.Mode))
	p.line("%s", hostLine(l.Host))
	if l.From.Container {
		p.line("in a container: what lies outside of it is not seen")
	}
	p.unsaid(l.From)
	if l.Frozen != "" {
		p.line("%s", p.paint(yellow, "FROZEN by "+flat(l.Frozen)))
	}
}

// unsaid says why nothing is removed from within a pid namespace, and what to write
// where that is meant otherwise.
func (p *page) unsaid(from api.From) {
	if len(from.Unsaid) == 0 {
		return
	}
	p.text(0, "in a pid namespace of its own: who is outside is not seen, so that no worktree and no lock is known to be free, and none is removed")
	p.line("where no process outside works on them, say so in custos.toml:")
	for _, section := range from.Unsaid {
		p.line("  [%s]", flat(section))
		p.line("  foreign_namespace = false")
	}
}

// lasting says for how long an alert has lasted; nothing of one that is new.
func (p *page) lasting(d string) string {
	if s := api.Span(d); s != "0s" {
		return p.dim(" · " + s)
	}
	return ""
}

func lookNeeds(p *page, l api.FirstLook) {
	p.needs("NEEDS YOU", l.NeedsYou, l.Seen)
	if l.Housekeeping > 0 {
		p.line("  %s", p.dim("and "+plural(l.Housekeeping, "alert")+" of housekeeping (P4)"))
	}
	if l.Pending > 0 {
		p.line("  %s", p.dim(strconv.Itoa(l.Pending)+" more may come: true, but not for long enough yet"))
	}
}

// needs writes what waits for a person, each with the command to type; seen is what was
// looked at.
func (p *page) needs(title string, list []api.Need, seen []api.PartSeen) {
	p.head(title, "")
	switch {
	case len(list) == 0 && blind(seen):
		p.line("  %s", p.paint(yellow, "nothing that could be seen; but see NOT SEEN below"))
	case len(list) == 0:
		p.line("  %s", p.paint(green, "nothing"))
	}
	for _, n := range list {
		lines := wrap(p.sentence(n)+p.lasting(n.For), p.width-6)
		p.line("  %s  %s", p.priority(n.Priority), lines[0])
		for _, more := range lines[1:] {
			p.line("      %s", more)
		}
		p.line("      %s %s", p.dim("→"), p.paint(bold, p.proposed(flat(n.Command))))
	}
}

// sentence is what is wrong with what: a summary often begins with the name.
func (p *page) sentence(n api.Need) string {
	if rest := what(n.Summary, n.Subject); rest != flat(n.Summary) {
		return p.subject(n.Subject) + " " + rest
	}
	return p.subject(n.Subject) + ": " + flat(n.Summary)
}

func blind(parts []api.PartSeen) bool {
	for _, s := range parts {
		if s.Status != "ok" && s.Status != "absent" {
			return true
		}
	}
	return false
}

func lookAgents(p *page, l api.FirstLook) {
	p.head("AGENTS", agentCount(l.Agents))
	if len(l.Agents) == 0 {
		p.line("  %s", nothingSeen(l.Seen, "agents", "none"))
	}
	rows := each(first(l.Agents, mostAgents), func(g api.AgentRow) []string {
		return []string{flat(g.Name), flat(g.Kind), flat(g.State), orUnknown(g.Since), flat(g.Source), agentWork(g), p.where(g), flat(g.Reason)}
	})
	p.table([]column{
		{head: "NAME", shorten: middle}, {head: "KIND"}, {head: "STATE", paint: p.state}, {head: "FOR", right: true},
		{head: "SOURCE"}, {head: "WORK", shorten: cut, spare: true}, {head: "WHERE", shorten: middle, spare: true}, {head: "REASON", shorten: cut, keep: reasonKeeps},
	}, rows)
	if n := len(l.Agents); n > mostAgents {
		p.line("  %s", p.dim(fmt.Sprintf("and %d more, which need less attention: %s", n-mostAgents, p.command("custos --json"))))
	}
}

// agentCount says how many there are, and of how many Custos keeps its hands off.
func agentCount(list []api.AgentRow) string {
	foreign := 0
	for _, g := range list {
		if g.Owner == "foreign" || g.Owner == "unknown" || g.Owner == "" {
			foreign++
		}
	}
	switch {
	case len(list) == 0:
		return ""
	case foreign == 0:
		return fmt.Sprint(len(list))
	case foreign == len(list):
		return fmt.Sprintf("%d, not ours: Custos only looks at them", len(list))
	}
	return fmt.Sprintf("%d, of which %d not ours: Custos only looks at those", len(list), foreign)
}

// nothingSeen says why a section is empty: a part that was not seen is not
// empty.
func nothingSeen(parts []api.PartSeen, part, none string) string {
	for _, s := range parts {
		if s.Part == part && s.Status != "ok" && s.Status != "absent" {
			return "cannot tell: " + flat(s.Part+" "+s.Status+", "+s.Why)
		}
	}
	return none
}

// agentWork is what a registered agent is for: its role and its task.
func agentWork(g api.AgentRow) string {
	return strings.TrimSpace(flat(g.Role) + " " + flat(g.Task))
}

// where an agent is: its pane, if that says more than its name; else its folder.
func (p *page) where(g api.AgentRow) string {
	switch {
	case g.CWD != "":
		return p.path(g.CWD)
	case g.Pane != "":
		return flat(g.Pane)
	case g.PID == 0:
		return ""
	}
	return fmt.Sprintf("pid %d", g.PID)
}

func (p *page) state(s string) string {
	switch s {
	case "working", "idle", "starting", "finished", "stopped":
		return p.paint(green, s)
	case "unknown":
		return p.dim(s)
	}
	return p.paint(yellow, s)
}

func lookWorktrees(p *page, l api.FirstLook) {
	var total int64
	rows := make([][]string, 0, len(l.Worktrees))
	for _, w := range l.Worktrees {
		if w.Bytes != nil {
			total += *w.Bytes
		}
		rows = append(rows, []string{size(w.Bytes), orUnknown(w.Age), merged(w), p.path(w.Path), fills(w), mayGo(w)})
	}
	note := ""
	if len(rows) > 0 {
		note = fmt.Sprintf("%d, %s", len(rows), size(&total))
	}
	p.head("STALE WORKTREES", note)
	if len(rows) == 0 {
		p.line("  %s", nothingSeen(l.Seen, "repos", "none"))
	}
	p.table([]column{
		{head: "SIZE", right: true}, {head: "IDLE", right: true}, {head: "MERGED"}, {head: "PATH", shorten: middle},
		{head: "FILLED BY", shorten: cut, spare: true}, {head: "MAY IT GO", shorten: cut, keep: reasonKeeps},
	}, first(rows, longest))
	p.more(len(rows), "custos --json")
}

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return api.Span(s)
}

func merged(w api.Worktree) string {
	if w.MergedBy == "content" {
		return "squashed"
	}
	return yesNo(w.Merged)
}

func fills(w api.Worktree) string {
	var out []string
	for _, f := range first(w.Fills, 2) {
		out = append(out, flat(f.What)+" "+size(&f.Bytes))
	}
	return strings.Join(out, ", ")
}

func mayGo(w api.Worktree) string {
	why := flat(strings.Join(w.WhyNot, "; "))
	switch {
	case w.Missing:
		return "yes: its folder is gone"
	case w.Removable == nil:
		return "cannot tell: " + why
	case *w.Removable:
		return "yes"
	}
	return "no: " + why
}

func lookCouldDo(p *page, l api.FirstLook) {
	if len(l.CouldDo) == 0 {
		return
	}
	p.head("COULD DO", "")
	rows := each(l.CouldDo, func(d api.Deed) []string {
		return []string{flat(d.Priority), flat(d.Do), p.subject(d.Subject), what(d.Why, d.Subject)}
	})
	p.table([]column{{paint: p.priority}, {}, {shorten: middle}, {shorten: cut}}, first(rows, longest))
	p.more(len(rows), "custos plan")
}

// lookSkipped joins refusals that differ in their subject only.
func lookSkipped(p *page, list []api.Refusal, l api.FirstLook) {
	if len(list) == 0 {
		return
	}
	p.head("SKIPPED", "")
	var order []string
	count := map[string]int{}
	rows := map[string][]string{}
	for _, r := range list {
		key := r.Do + r.Guard + r.Why
		if count[key]++; count[key] > 1 {
			continue
		}
		order = append(order, key)
		why := flat(r.Guard)
		if r.Until != nil {
			why += " until " + due(*r.Until, l.At)
		}
		why += ": " + flat(r.Why)
		rows[key] = []string{flat(r.Do), p.subject(r.Subject), "", why}
	}
	out := make([][]string, 0, len(order))
	for _, key := range order {
		if n := count[key] - 1; n > 0 {
			rows[key][2] = fmt.Sprintf("+%d", n)
		}
		out = append(out, rows[key])
	}
	p.table([]column{{}, {shorten: middle}, {paint: p.dim}, {shorten: cut}}, first(out, longest))
	p.more(len(out), "custos plan")
}

// lookSeen says what was looked at and, louder, what could not be.
func lookSeen(p *page, parts []api.PartSeen) {
	var seen, absent []string
	var not []api.PartSeen
	for _, s := range parts {
		switch {
		case s.Status == "absent":
			absent = append(absent, flat(s.Part))
		case s.Status != "ok":
			not = append(not, s)
		case s.What != "":
			seen = append(seen, flat(s.What))
		}
	}
	p.head("SEEN", "")
	p.text(2, orNothing(strings.Join(seen, " · ")))
	if len(absent) > 0 {
		p.text(2, "not here: "+strings.Join(absent, ", "))
	}
	p.notSeen(not)
}

// notSeen says which parts could not be looked at, and why.
func (p *page) notSeen(parts []api.PartSeen) {
	titled(p, "NOT SEEN", "", parts, []column{{}, {paint: func(s string) string { return p.paint(yellow, s) }}, {shorten: cut}}, func(s api.PartSeen) []string {
		return []string{flat(s.Part), flat(s.Status), flat(s.Why)}
	})
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// more says that a section was cut, and where the rest is.
func (p *page) more(n int, command string) {
	if n > longest {
		p.line("  %s", p.dim(fmt.Sprintf("and %d more: %s", n-longest, p.command(command))))
	}
}
