package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) psCommand() *cobra.Command {
	var waiting bool
	c := a.brake(&cobra.Command{
		Use:     "ps",
		Example: "  custos ps\n  custos ps --json",
		Short:   "The agents, ours and others, and what they are doing",
		Long: `ps lists every agent that is seen or registered: what may wait for a person comes
first. --pending lists what was asked for and is not there yet: agents that are
being started, first prompts that were not acknowledged, orders that are held back,
recoveries that are planned or held back. Where the agents cannot be seen, that is
said, with exit code 3.

CTX is how much of its context is used, in percent, or in tokens where its size is not known. COST and TOKENS are what it
used so far, told by its CLI or at list prices; without room for them, custos show NAME has them. ACCOUNT is there when
more than one is in use. What a mark behind the kind means stands below the table.

What a person spawned is started again when it fails, in mode observe too, unless
it was spawned with --restart never: to observe is about what is not ours.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := ask(cmd.Context(), a, patience, a.everyAgent, func(p *page, v api.Agents) {
				if waiting {
					writePending(p, v)
					return
				}
				writeAgents(p, v)
			})
			if err == nil && (isUnseen(v.Seen) || isSilent(v.Hosts)) {
				return errUnseen
			}
			return err
		},
	})
	c.Flags().BoolVar(&waiting, "pending", false, "what was asked for and is not there yet")
	return c
}

// errUnseen ends a command with code 3: what it was asked for was not seen, as it said.
var errUnseen = errors.New("it was not seen")

// isUnseen says whether nothing is known of a part; what is stale was seen.
func isUnseen(s api.PartSeen) bool { return s.Status == "unknown" || s.Status == "pending" }

func writeAgents(p *page, v api.Agents) {
	if len(v.Agents) == 0 {
		p.line("%s", nothingSeen([]api.PartSeen{v.Seen}, "agents", "No agents."))
	}
	account := severalAccounts(v.Agents)
	rows := each(v.Agents, func(g api.AgentRow) []string {
		return []string{flat(g.Name), flat(g.Kind) + kindMarks(g), flat(g.State), orUnknown(g.Since), flat(g.Owner), account(g), contextUse(g), money(g.Dollars), count(g.Tokens), agentWork(g), p.where(g), agentNews(g)}
	})
	p.table([]column{
		{head: "NAME", shorten: middle}, {head: "KIND"}, {head: "STATE", paint: p.state}, {head: "FOR", right: true},
		{head: "OWNER"}, {head: "ACCOUNT", shorten: middle}, {head: "CTX", right: true}, {head: "COST", right: true, spare: true}, {head: "TOKENS", right: true, spare: true}, {head: "WORK", shorten: cut}, {head: "WHERE", shorten: middle}, {head: "REASON", shorten: cut},
	}, rows)
	if len(v.Agents) > 0 && v.Seen.Status == "stale" {
		p.line("  %s", p.paint(yellow, "an old reading: "+flat(v.Seen.Why)))
	}
	if len(v.Agents) > 0 && isUnseen(v.Seen) {
		p.text(0, "this machine is not in it: agents "+flat(v.Seen.Status)+", "+flat(v.Seen.Why))
	}
	writeSilent(p, v.Hosts)
	for _, m := range marks() {
		if slices.ContainsFunc(v.Agents, func(g api.AgentRow) bool { return m.of(g) != "" }) {
			p.text(0, m.mark+" "+m.means+" (custos show NAME)")
		}
	}
	if text := keptWords(v.Kept); text != "" {
		p.line("")
		p.text(0, text)
	}
	if n := len(v.Pending); n > 0 {
		p.line("")
		p.line("%d pending: %s", n, p.command("custos ps --pending"))
	}
	p.next(v.Next)
}

// severalAccounts says whose account an agent uses, where they use more than one.
func severalAccounts(all []api.AgentRow) func(api.AgentRow) string {
	names := map[string]bool{"": true}
	for _, g := range all {
		names[g.Account] = true
	}
	return func(g api.AgentRow) string {
		if len(names) < 3 {
			return ""
		}
		return flat(g.Account)
	}
}

// mark stands behind the kind of an agent of which Custos knows less than of others.
type mark struct {
	mark, means string
	of          func(api.AgentRow) string // not empty where it stands
}

func marks() []mark {
	return []mark{
		{"*", "its CLI is newer than what Custos was taught: what its screen shows is a hint only", func(g api.AgentRow) string { return g.Outgrown }},
		{"!", "nothing is heard of its hooks: what it does is told by its screen and its conversation alone", func(g api.AgentRow) string { return g.Deaf }},
		{"~", "its policy is advice only, in part or in whole", func(g api.AgentRow) string { return g.PolicyGap }},
	}
}

func kindMarks(g api.AgentRow) (all string) {
	for _, m := range marks() {
		if m.of(g) != "" {
			all += m.mark
		}
	}
	return all
}

// contextUse is how much of its context is used: in percent, else in tokens.
func contextUse(g api.AgentRow) string {
	if g.Context != nil {
		return fmt.Sprintf("%.0f%%", *g.Context)
	}
	return count(g.ContextUsed)
}

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return api.Tokens(*n)
}

func money(usd *float64) string {
	if usd == nil {
		return ""
	}
	return api.Dollars(*usd)
}

// kept says of one agent that its restarts do not wait for a mode.
func kept(is bool) string {
	if is {
		return ", whatever the mode: a person spawned it"
	}
	return ""
}

// fewKept is how many agents are named that are kept running.
const fewKept = 6

// keptWords says which agents are started again when they fail, in mode observe too.
func keptWords(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n > fewKept:
		return fmt.Sprintf("%d agents that a person spawned are started again when they fail, whatever the mode.", n)
	}
	return "Started again on failure, whatever the mode: " + strings.Join(names, ", ") + "."
}

// agentNews is what is most worth saying of an agent.
func agentNews(g api.AgentRow) string {
	switch {
	case g.Failed != "":
		return "given up: " + flat(g.Failed)
	case g.Conflict != "":
		return "conflict: " + flat(g.Conflict)
	case g.Desired == "paused" || g.Desired == "draining":
		return flat(g.Desired) + "; " + flat(g.Reason)
	}
	return flat(g.Reason)
}

func writePending(p *page, v api.Agents) {
	if len(v.Pending) == 0 {
		p.line("%s", nothingSeen([]api.PartSeen{v.Seen}, "agents", "Nothing is pending."))
		return
	}
	p.table([]column{{head: "AGENT", shorten: middle}, {head: "WHAT"}, {head: "STATE"}, {head: "FOR", right: true}, {head: "ORDER"}, {head: "WHY", fold: true}}, each(v.Pending, func(w api.Pending) []string {
		why := flat(w.Why)
		if w.Until != nil {
			why = fmt.Sprintf("until %s%s: %s", due(*w.Until, v.At), andMore(w.Also), why)
		}
		return []string{flat(w.Agent), flat(w.What), flat(w.State), api.Span(w.For), flat(w.Order), why}
	}))
	p.next(v.Next)
}
