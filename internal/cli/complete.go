package cli

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/docs"
	"custos/internal/api"
)

// completing is how long the shell waits for names: without an answer there are none.
const completing = time.Second

// source is where the names come from that one argument may have; of are those before it.
type source func(ctx context.Context, c *api.Client, of []string) ([]string, error)

// completions are what the arguments of commands may be, one after the other; where a
// command takes more, they are as the last.
func completions() map[string][]source {
	out := map[string][]source{
		"answer": {agentNames, choiceNames}, "ack": {alertNumbers}, "approve": {alertNumbers}, "deny": {alertNumbers}, "silence": {either(ruleNames, alertSubjects), alertSubjects},
		"why": {either(agentNames, alertNumbers, ruleNames, agentSubjects, alertSubjects)}, "rules": {ruleNames},
		"mail read": {mailIDs}, "mail archive": {mailIDs}, "mail reply": {mailIDs}, "web revoke": {webSessions},
		"convoy add": {convoyIDs, workRefs}, "convoy remove": {convoyIDs, workRefs}, "group add": {convoyIDs, workRefs}, "group remove": {convoyIDs, workRefs}, "budget left": {agentNames}, "merge add": {noNames}, "grant": {agentNames, noNames},
		"formula show": {either(formulaNames, runIDs)}, "formula step done": {runIDs}, "formula step fail": {runIDs}, "orders approve": {orderIDs}, "orders cancel": {orderIDs}, "orders show": {orderIDs},
	}
	for _, k := range []struct {
		from     source
		commands string
	}{
		{agentNames, "agent/cv adopt attach checkpoint failures handoff interrupt logs nudge pause peek recover replay resume show stop trace wait"},
		{kindNames, "hooks/install hooks/status hooks/uninstall"},
		{formulaNames, "formula/disable formula/enable formula/graph formula/lint formula/render formula/run"},
		{runIDs, "formula/cancel formula/resume"},
		{pluginNames, "plugin/history plugin/lint plugin/run plugin/show"},
		{budgetNames, "budget/lower budget/raise budget/show"},
		{convoyIDs, "convoy/close convoy/reopen convoy/show group/close group/status"},
		{gateIDs, "gate/close gate/show"},
		{roleNames, "role/lint role/render role/show"}, {teamNames, "team/run"},
		{workRefs, "sling team/show team/stop review/show review/give"},
		{mergeIDs, "merge/show merge/why merge/withdraw merge/hold merge/release"},
		{workRefs, "work/close work/dep work/release work/reopen work/show work/take"},
	} {
		for _, path := range strings.Fields(k.commands) {
			out[strings.ReplaceAll(path, "/", " ")] = []source{k.from}
		}
	}
	return out
}

// completes has the shell ask for the names of arguments.
func (a *app) completes(root *cobra.Command) {
	for path, sources := range completions() {
		c, _, err := root.Find(strings.Fields(path))
		if err == nil && len(sources) > 0 && c.CommandPath() == "custos "+path {
			c.ValidArgsFunction = a.completed(sources)
		}
	}
	a.completesFlags(root)
}

// completesFlags has the shell ask for the names of what flags take.
func (a *app) completesFlags(c *cobra.Command) {
	for flag, from := range map[string]source{"kind": kindNames, "agent": agentNames} {
		if c.Flags().Lookup(flag) != nil {
			names := a.completed([]source{from})
			_ = c.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return names(cmd, nil, begun)
			}) // the flag is there, and nothing else completes it
		}
	}
	for _, sub := range c.Commands() {
		a.completesFlags(sub)
	}
}

// listed completes one argument of a list that is within this program.
func listed(list func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(list(), func(n string) bool { return !strings.HasPrefix(n, begun) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// helpTopics are what custos help takes besides the words of subcommands.
func helpTopics(root *cobra.Command) []string {
	out := append(names(slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return c.Hidden })), "all", "pages")
	for _, name := range pageNames(docs.Pages()) {
		out = append(out, name+".md")
	}
	return out
}

// completed are the names of an argument that begin as it does; none where nobody answers.
func (a *app) completed(sources []source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completing)
		defer cancel()
		files := cobra.ShellCompDirectiveNoFileComp
		if takesFile.MatchString(cmd.Use) {
			files = cobra.ShellCompDirectiveDefault
		}
		if len(args) >= len(sources) && !strings.Contains(cmd.Use, "...") {
			return nil, files
		}
		var names []string
		if _, err := a.config(); err == nil {
			names = a.names(ctx, sources[min(len(args), len(sources)-1)], args)
		}
		names = slices.DeleteFunc(names, func(n string) bool {
			return !plainName.MatchString(n) || !strings.HasPrefix(n, begun) || slices.Contains(args, n)
		})
		slices.Sort(names)
		return slices.Compact(names), files
	}
}

// takesFile finds commands whose argument may be a file.
var takesFile = regexp.MustCompile(`FILE|PATH|FOLDER`)

// plainName is a name that a shell takes for nothing else: what it completes, it may
// evaluate.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=#-]+$`)

func (a *app) names(ctx context.Context, from source, args []string) []string {
	c, done, err := a.quiet().client(ctx)
	if err != nil {
		return nil
	}
	defer done()
	names, err := from(ctx, c, args)
	if err != nil {
		return nil
	}
	return names
}

// named are the names of a list.
func named[T any](list []T, err error, name func(T) string) ([]string, error) {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, name(x))
	}
	return out, err
}

// either has the names of some sources; one that fails has none.
func either(sources ...source) source {
	return func(ctx context.Context, c *api.Client, of []string) (out []string, _ error) {
		for _, s := range sources {
			if names, err := s(ctx, c, of); err == nil {
				out = append(out, names...)
			}
		}
		return out, nil
	}
}

func agentNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Agents(ctx)
	return named(v.Agents, err, func(g api.AgentRow) string { return g.Name })
}

// agentSubjects are agents as alerts name them.
func agentSubjects(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Agents(ctx)
	return named(v.Agents, err, func(g api.AgentRow) string { return "agent/" + g.Name })
}

func mailIDs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Mails(ctx, "overseer", false)
	return named(v.Mail, err, func(m api.Mail) string { return m.ID })
}

func webSessions(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Web(ctx)
	return named(v.Sessions, err, func(s api.WebSession) string { return s.ID })
}

// noNames: the rules of its policy are not the API's to tell.
func noNames(context.Context, *api.Client, []string) ([]string, error) { return nil, nil }

func choiceNames(ctx context.Context, c *api.Client, of []string) ([]string, error) {
	v, err := c.Agent(ctx, of[0])
	if err != nil || v.Dialog == nil {
		return nil, err
	}
	return named(v.Dialog.Choices, nil, func(ch api.AgentChoice) string { return ch.Name })
}

func alertNumbers(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Alerts(ctx, false)
	return named(v.Alerts, err, func(al api.Alert) string {
		if al.Number == 0 { // not written down
			return ""
		}
		return strconv.FormatInt(al.Number, 10)
	})
}

func alertSubjects(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Alerts(ctx, false)
	return named(v.Alerts, err, func(al api.Alert) string { return al.Subject })
}

func ruleNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Rules(ctx)
	return named(v.Rules, err, func(r api.Rule) string { return r.Name })
}

func kindNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Kinds(ctx)
	return named(v.Kinds, err, func(k api.Kind) string { return k.Name })
}

func formulaNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Formulas(ctx)
	return named(v.Formulas, err, func(f api.FormulaRow) string { return f.Name })
}

func runIDs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Runs(ctx, false)
	return named(v.Runs, err, func(r api.Run) string { return r.ID })
}

func pluginNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Plugins(ctx)
	return named(v.Plugins, err, func(p api.PluginRow) string { return p.Name })
}

func budgetNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Budgets(ctx)
	return named(v.Rows, err, func(b api.Budget) string { return b.Name })
}

func convoyIDs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Convoys(ctx, false)
	return named(v.Convoys, err, func(x api.Convoy) string { return x.ID })
}

func gateIDs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Gates(ctx, false)
	return named(v.Gates, err, func(g api.Gate) string { return g.ID })
}

func roleNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Roles(ctx)
	return named(v.Roles, err, func(r api.Role) string { return r.Name })
}

func teamNames(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Teams(ctx, false)
	return named(v.Teams, err, func(t api.Team) string { return t.Name })
}

func mergeIDs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Merges(ctx, "", false)
	return named(v.Merges, err, func(m api.Merge) string { return m.ID })
}

func workRefs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Work(ctx, api.WorkQuery{})
	return named(v.Work, err, func(w api.Work) string { return w.Ref })
}

func orderIDs(ctx context.Context, c *api.Client, _ []string) ([]string, error) {
	v, err := c.Orders(ctx)
	return named(v.Orders, err, func(o api.Order) string { return o.ID })
}
