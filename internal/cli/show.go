package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Example: "  custos show builder",
		Short:   "Everything known about one agent",
		Long: `show says what an agent is doing and how that is known, the question it shows,
what the record says of it, its newest checkpoint, the orders that wait for it and
what went wrong with it. custos why NAME shows its story.`,
		RunE: asks(a, func(ctx context.Context, c *api.Client, args []string) (api.AgentDetail, error) {
			return drawn(ctx, reading, beginsToAsk, func(ctx context.Context) (api.AgentDetail, error) { return c.Agent(ctx, args[0]) })
		}, writeAgent),
	}
}

// reading is how long show waits for the look that reads the dialog of an agent that has begun to
// ask: its hooks tell of it before.
const reading = 3 * time.Second

// facts gathers rows of a name and a value, and leaves out what is empty.
type facts [][]string

func (f *facts) add(name, value string) {
	if value != "" {
		*f = append(*f, []string{name, value})
	}
}

func writeAgent(p *page, d api.AgentDetail) {
	g := d.Agent
	p.line("%s  %s", p.paint(bold, flat(g.Name)), p.state(flat(g.State)))
	var f facts
	f.add("because", flat(g.Reason)+" (source: "+flat(g.Source)+")")
	if g.Since != "" {
		f.add("for", api.Span(g.Since))
	}
	f.add("kind", flat(g.KindWords()))
	f.add("policy", flat(g.PolicyWords()))
	f.add("owner", flat(g.Owner))
	if g.PID != 0 {
		f.add("process", processText(g))
	}
	f.add("pane", flat(g.Pane))
	f.add("folder", p.path(g.CWD))
	liveFacts(&f, d)
	workFacts(&f, g)
	p.table([]column{{paint: p.dim}, {shorten: cut}}, f)
	if d.Dialog != nil {
		p.head("DIALOG", "")
		writeDialog(p, *d.Dialog)
	}
	if beginsToAsk(d) {
		p.head("DIALOG", "")
		p.line("  it is being read: %s again", p.command("custos show "+shell([]string{g.Name})))
	}
	agentSignals(p, d.Signals)
	agentRecord(p, d.Record)
	if len(d.Alerts) > 0 {
		p.head("ALERTS", "")
		writeAlertTable(p, d.Alerts)
	}
	agentOrders(p, d.Orders)
	writeDeeds(p, d.Planned, d.At)
	writeRefusals(p, api.Plan{At: d.At, Skipped: d.Skipped})
	if len(d.Failures) > 0 {
		p.head("FAILURES", "")
		writeFailureTable(p, d.Failures)
	}
	agentMessages(p, d.Messages)
	p.next(d.Next)
}

// agentMessages are the mail that the agent has not read.
func agentMessages(p *page, list []api.Message) {
	titled(p, "MAIL", "for it, not read", list, []column{{paint: p.dim}, {}, {}, {shorten: cut}}, func(m api.Message) []string {
		return []string{m.At.UTC().Format("2006-01-02 15:04:05"), flat(m.Priority), flat(m.Kind), flat(m.Subject + ": " + m.Body)}
	})
}

func processText(g api.AgentRow) string {
	out := fmt.Sprintf("pid %d", g.PID)
	if g.RSS != nil {
		out += ", memory " + size(g.RSS)
	}
	if g.CPU != nil {
		out += fmt.Sprintf(", CPU %.1f %%", *g.CPU)
	}
	return out
}

// contextText is how much of its context an agent has used.
func contextText(d api.AgentDetail) string {
	used := count(d.Agent.ContextUsed)
	switch {
	case d.Context != nil && used != "":
		return fmt.Sprintf("%.0f %% used, %s tokens", *d.Context, used)
	case d.Context != nil:
		return fmt.Sprintf("%.0f %% used", *d.Context)
	case used != "":
		return used + " tokens used; how many it holds is not known"
	}
	return ""
}

// usedText is what an agent used and cost so far.
func usedText(g api.AgentRow) string {
	switch {
	case g.Tokens == nil:
		return ""
	case g.Dollars == nil:
		return count(g.Tokens) + " tokens; what they cost is not known"
	case *g.Dollars == 0:
		return count(g.Tokens) + " tokens, for nothing"
	}
	return count(g.Tokens) + " tokens, " + money(g.Dollars) + " (as told, or at list prices)"
}

// liveFacts is what an agent reports now.
func liveFacts(f *facts, d api.AgentDetail) {
	if t := d.Tool; t != nil {
		f.add("tool", strings.TrimSpace(flat(t.Name)+" "+flat(t.Args))+", for "+api.Span(t.For)+" of "+api.Span(t.Deadline))
	}
	f.add("model", flat(d.Agent.Model))
	f.add("context", contextText(d))
	f.add("used", usedText(d.Agent))
	if d.Limited != nil {
		f.add("limited", "until "+d.Limited.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if e := d.Exit; e != nil {
		f.add("ended", flat(e.Words)+" at "+e.At.UTC().Format("2006-01-02 15:04:05 UTC")+", source: "+flat(e.Source))
	}
}

// workFacts is what an agent is for, and what is unusual about its record.
func workFacts(f *facts, g api.AgentRow) {
	f.add("role", flat(g.Role))
	f.add("project", flat(g.Project))
	f.add("task", flat(g.Task))
	f.add("run", flat(g.Run))
	if g.Parent != "" {
		f.add("parent", fmt.Sprintf("%s (depth %d)", flat(g.Parent), g.Depth))
	}
	f.add("account", flat(g.Account))
	f.add("wanted", flat(g.Desired))
	if g.Delivery != "" && g.Delivery != "acknowledged" {
		f.add("prompt", flat(g.Delivery))
	}
	f.add("given up", flat(g.Failed))
	f.add("hooks", prefixed("nothing is heard of them: ", flat(g.Deaf)))
	f.add("conflict", flat(g.Conflict))
}

func writeDialog(p *page, d api.AgentDialog) {
	p.text(2, d.Says+": "+d.Question)
	if what := strings.TrimSpace(flat(d.Tool) + " " + flat(d.Args)); what != "" {
		p.text(2, what)
	}
	p.table([]column{{paint: func(s string) string { return p.paint(bold, s) }}, {shorten: cut}}, each(d.Choices, func(c api.AgentChoice) []string {
		return []string{flat(c.Name), flat(c.Label)}
	}))
}

func agentSignals(p *page, list []api.AgentSignal) {
	titled(p, "SIGNALS", "", list, []column{{paint: p.dim}, {shorten: cut}, {}, {paint: p.dim}}, func(s api.AgentSignal) []string {
		age := ""
		if s.Age != "" {
			age = api.Span(s.Age) + " ago"
		}
		return []string{flat(s.Source), flat(s.Says), flat(s.Hint), age}
	})
}

func agentRecord(p *page, r *api.AgentRecord) {
	if r == nil {
		return
	}
	p.head("RECORD", "")
	var f facts
	f.add("command", flat(shell(r.Argv)))
	f.add("where", flat(r.Where))
	f.add("folder", p.path(r.Dir))
	if r.Worktree != "" {
		f.add("worktree", strings.TrimSpace("branch "+flat(r.Branch)+" of "+p.path(r.Repo)))
	}
	f.add("spec", p.path(r.Spec))
	f.add("files", flat(strings.Join(r.Files, ", ")))
	f.add("restart", flat(r.Restart)+kept(r.Kept))
	if r.MemoryMax > 0 {
		f.add("memory", "at most "+size(&r.MemoryMax))
	}
	if b := r.Boundary; b != nil {
		f.add("boundary", flat(b.Name)+", by "+flat(b.By))
		for _, open := range b.Open {
			f.add("  open", flat(open))
		}
		for _, never := range b.Never {
			f.add("  not held", flat(never))
		}
	}
	f.add("wanted by", whenBy(r.DesiredBy, r.DesiredAt))
	f.add("started", whenBy("", r.StartedAt))
	f.add("instance", flat(r.Instance))
	f.add("session", flat(r.Session))
	if c := r.Checkpoint; c != nil {
		f.add("checkpoint", whenBy(strings.TrimSpace(cut(flat(c.Head), 12)+" "+flat(c.Ref)), &c.At))
	}
	p.table([]column{{paint: p.dim}, {shorten: cut}}, f)
}

func whenBy(who string, at *time.Time) string {
	when := ""
	if at != nil {
		when = at.UTC().Format("2006-01-02 15:04 UTC")
	}
	if who = flat(who); who != "" && when != "" {
		return who + ", " + when
	}
	return who + when
}

func agentOrders(p *page, list []api.Order) {
	titled(p, "ORDERS", "", list, []column{{paint: p.dim}, {}, {}, {}, {shorten: cut}}, func(o api.Order) []string {
		state := flat(o.State)
		if o.State == "open" && o.Action != "" {
			state = "under way"
		}
		return []string{flat(o.ID), flat(o.Do), "by " + flat(o.By), state, reasonOf(o)}
	})
}
