package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/docs"
	"custos/internal/api"
	"custos/internal/nearest"
)

// topic is a group of commands in the help.
type topic struct {
	title    string
	commands []string
}

// everyday are the ten commands of the short help: what a person needs in the first evening.
// One that this program has not is left out.
func everyday() []topic {
	return []topic{
		{"See", []string{"top", "ps", "why"}},
		{"Agents", []string{"attach", "answer", "nudge", "stop"}},
		{"Alerts", []string{"alerts", "approve"}},
		{"Keep watching", []string{"up"}},
	}
}

// everything lists all commands by topic; a test sees to it that none is missing.
func everything() []topic {
	return []topic{
		{"Look", []string{"preflight", "plan", "why", "runbook", "explain", "kinds", "record", "simulate", "rules", "policy", "status", "health"}},
		{"Act", []string{"patrol", "approve", "deny", "grant", "clean", "worktree", "freeze", "thaw"}},
		{"Agents", []string{"ps", "top", "show", "agent", "peek", "logs", "attach", "wait", "spawn", "heartbeat", "handoff", "mcp", "nudge", "answer", "interrupt", "stop", "recover",
			"orders", "checkpoint", "adopt", "pause", "resume", "hooks"}},
		{"Formulas", []string{"formula", "schedule", "plugin", "trust", "cost", "budget"}},
		{"Coordinate", []string{"work", "convoy", "mail", "gate", "trigger", "merge", "review", "role", "team", "sling"}},
		{"What happened", []string{"feed", "trace", "errors", "replay", "failures", "report", "journal"}},
		{"Alerts", []string{"alerts", "ack", "silence", "tell"}},
		{"Several hosts", []string{"hub", "join"}},
		{"The daemon", []string{"up", "engine-proxy", "bridge", "down", "web", "service", "upgrade", "uninstall"}},
		{"Configure", []string{"setup", "init", "config", "doctor", "schema", "version", "help", "completion"}},
	}
}

// exitMeaning is one row of the table of exit codes, in the help and in docs/cli.md.
type exitMeaning struct {
	code  int
	means string
}

func exitTable() []exitMeaning {
	return []exitMeaning{
		{exitWell, "well: looked, or done"},
		{exitAlerts, "alerts at or above --fail-on; an action of patrol --apply, doctor --fix, clean or worktree clean failed; health, doctor or service status found something; what formula run or plugin run carried out failed, was cancelled or needs a person; a want of simulate is not met; tell reaches no one"},
		{exitUse, "bad use or input; or what was asked for is refused, or came to nothing: the cause is said"},
		{exitLook, "could not look, did not see what was asked for, no answer in time, or interrupted: what becomes of what was asked for is said"},
		{exitQueued, "an order was taken and is not carried out yet: what holds it is said, and custos orders cancel ID takes it back; or what tell is to send waits for a daemon"},
	}
}

// exitCodes is the table as the help of the program shows it.
func exitCodes() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exitTable() {
		lines := wrap(e.means, 75)
		fmt.Fprintf(&b, "  %d  %s\n", e.code, lines[0])
		for _, more := range lines[1:] {
			fmt.Fprintf(&b, "     %s\n", more)
		}
	}
	return b.String()
}

func (a *app) setHelp(root *cobra.Command) {
	help := &cobra.Command{
		Use:   "help [all | pages | COMMAND | NAME.md]",
		Short: "Help on a command; help all lists every command, help pages how things work",
		Args:  cobra.ArbitraryArgs,

		ValidArgsFunction: listed(func() []string { return helpTopics(root) }),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "all" {
				return a.writeHelp(root, everything())
			}
			if len(args) == 1 && args[0] == "pages" {
				return a.show(docs.Pages(), func(p *page) { listPages(p, docs.Pages(), "custos help NAME.md") })
			}
			c, rest, err := root.Find(args)
			if pg, ok := helpPage(args, err != nil || len(rest) > 0 && c == root); ok {
				return a.show(pg, func(p *page) { p.markdown(pg, "") })
			}
			if err != nil || len(rest) > 0 && c == root {
				return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot help with %q: there is no such command%s", strings.Join(args, " "), nearest.Hint(strings.Join(args, " "), names(root.Commands()))), Hint: "custos help all"}
			}
			return c.Help()
		},
	}
	root.SetHelpCommand(help)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if c == root {
			_ = a.writeHelp(root, everyday()) // cobra takes no error here
			return
		}
		if a.json {
			_ = a.print(map[string]string{"command": c.CommandPath(), "help": commandHelp(c)})
			return
		}
		fmt.Fprint(a.Stdout, commandHelp(c))
	})
}

// helpPage is the page that a person asked help of: by its name with ".md", or, where no
// command is called so, without.
func helpPage(args []string, noCommand bool) (docs.Page, bool) {
	name, isPage := strings.CutSuffix(strings.Join(args, " "), ".md")
	if !isPage && !noCommand {
		return docs.Page{}, false
	}
	return docs.Get(name)
}

// writeHelp is the help of the program, with the commands of some topics.
func (a *app) writeHelp(root *cobra.Command, topics []topic) error {
	end := ""
	if len(topics) == len(everyday()) {
		end = "\nEvery command: custos help all. One command: custos help COMMAND. How things work: custos help pages.\n" + a.firstWords()
	}
	topics = a.offered(topics)
	if a.json {
		return a.print(helpOf(root, topics))
	}
	root.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n%s\n\nUsage:\n  custos [COMMAND] [flags]\n", root.Short, root.Long)
	for _, t := range topics {
		fmt.Fprintf(&b, "\n%s:\n", t.title)
		for _, c := range t.of(root) {
			fmt.Fprintf(&b, "  %-10s  %s\n", c.Name, c.Short)
		}
	}
	fmt.Fprintf(&b, "\nFlags:\n%s\n%s%s", root.Flags().FlagUsagesWrapped(widest), exitCodes(), end)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// firstWords are for who is here for the first time.
func (a *app) firstWords() string {
	if a.Daemon.Client {
		return "A client: this machine is not watched. First time here: custos help hosts.md.\n"
	}
	return "First time here: custos setup. Stop every action at once: custos freeze.\n"
}

// helpTopic is a topic of the help, for machines.
type helpTopic struct {
	Topic    string        `json:"topic"`
	Commands []helpCommand `json:"commands"`
}

type helpCommand struct {
	Name  string `json:"name"`
	Short string `json:"short"`
}

func helpOf(root *cobra.Command, topics []topic) map[string]any {
	out := make([]helpTopic, len(topics))
	for i, t := range topics {
		out[i] = helpTopic{t.title, t.of(root)}
	}
	return map[string]any{"about": root.Short, "topics": out, "exit_codes": exitCodes()}
}

// of lists the commands of a topic that there are.
func (t topic) of(root *cobra.Command) (out []helpCommand) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, name := range t.commands {
		for _, c := range root.Commands() {
			if c.Name() == name {
				out = append(out, helpCommand{name, c.Short})
			}
		}
	}
	return out
}

// commandHelp is the help of one command. docs/cli.md is made of it.
func commandHelp(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", c.Short)
	if c.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Long)
	}
	fmt.Fprintf(&b, "\nUsage:\n  %s\n", c.UseLine())
	subs := slices.DeleteFunc(slices.Clone(c.Commands()), func(s *cobra.Command) bool { return !s.IsAvailableCommand() })
	if len(subs) > 0 {
		b.WriteString("\nCommands:\n")
		for _, s := range subs {
			fmt.Fprintf(&b, "  %-10s  %s\n", s.Name(), s.Short)
		}
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if f := c.LocalNonPersistentFlags(); f.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", f.FlagUsagesWrapped(widest))
	}
	if f := c.InheritedFlags(); f.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nEverywhere:\n%s", f.FlagUsagesWrapped(widest))
	}
	return b.String()
}
