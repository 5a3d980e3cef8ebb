package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

// Of a plugin: how its file and its program are called, and how large the file may
// be; docs/plugins.md says so.
const (
	pluginFile    = "plugin.md"
	pluginScript  = "run.sh"
	largestPlugin = 1 << 20
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Folders with a plugin.md, run when their gate opens",
		Long: `A plugin is a folder with a plugin.md: its front matter says when it is run (the
gate: cooldown, cron, condition, event or manual) and how (run.sh, or its text given
to an agent). custos help plugins.md has the keys. Plugins lie in ~/.config/custos/plugins
and in the folders of [plugins].`,
		Example: "  custos plugin list\n  custos plugin lint ~/.config/custos/plugins/backup",
	}
	c.AddCommand(a.pluginList(), a.pluginShow(), a.pluginRun(), a.pluginHistory(), a.pluginLint())
	return c
}

func (a *app) pluginList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "The plugins there are, when each is run next, its last run, and why it is not run",
		Example: "  custos plugin list",
		RunE:    asksFor(a, (*api.Client).Plugins, writePlugins),
	}
}

func writePlugins(p *page, v api.Plugins) {
	if len(v.Plugins) == 0 {
		p.text(0, "No plugin. One is a folder with a "+pluginFile+", in the folder plugins beside custos.toml or in one of [plugins] dirs; custos help plugins.md has an example.")
	}
	rows, notes := make([][]string, 0, len(v.Plugins)), []string{}
	for _, x := range v.Plugins {
		next, last := "", ""
		if len(x.NextAt) > 0 {
			next = clock(x.NextAt[0], v.At)
		}
		if x.LastAt != nil {
			last = clock(*x.LastAt, v.At) + " " + flat(x.LastState)
		}
		why := pluginNews(x)
		notes, why = aside(notes, x.Name, why)
		rows = append(rows, []string{flat(x.Name), exact(x.When), flat(x.How), next, last, why})
	}
	p.table([]column{{head: "NAME", shorten: middle}, {head: "WHEN", shorten: cut}, {head: "HOW"}, {head: "NEXT (UTC)"}, {head: "LAST"},
		{head: "NOTE", shorten: cut, keep: whyNotWide}}, rows)
	p.below(notes)
	p.next(v.Next)
}

// pluginNews is what is most worth saying of a plugin.
func pluginNews(x api.PluginRow) string {
	switch {
	case x.Broken != "":
		return "broken: " + flat(x.Broken)
	case x.Disabled != "":
		return notBy(x.Disabled)
	case x.Failures > 1:
		return fmt.Sprintf("failed %d times in a row", x.Failures)
	case x.Changed:
		return "changed since its last run"
	}
	return flat(x.WhyNot)
}

func (a *app) pluginShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "One plugin: its gate, what is run, what is wrong with it",
		Example: "  custos plugin show backup",
		RunE:    asksOne(a, (*api.Client).Plugin, writePlugin),
	}
}

func writePlugin(p *page, v api.Plugin) {
	p.text(0, strings.TrimSpace(flat(v.Name)+" "+flat(v.Version)+"  "+flat(v.Description)))
	p.line("")
	rows := facts{{"gate", flat(v.Gate)}, {"when", exact(v.When)}, {"how", flat(v.How)}, {"runs", flat(shell(v.Argv))}, {"time", exact(v.Timeout)},
		{"env", flat(strings.Join(v.Env, " "))}, {"labels", flat(strings.Join(v.Labels, ", "))}, {"severity", flat(v.Severity)}, {"file", p.path(v.Source)}, {"last", flat(strings.TrimSpace(v.LastRun + " " + v.LastState))}}
	if v.Parallel {
		rows.add("beside", "others: it waits for none")
	}
	rows.add("note", pluginNews(v.PluginRow))
	p.table([]column{{}, {}}, slices.DeleteFunc(rows, func(r []string) bool { return r[1] == "" }))
	for _, w := range v.Problems {
		p.line("%s", pluginProblem(w))
	}
	if v.Text != "" {
		p.line("")
		p.text(2, v.Text)
	}
	p.next(v.Next)
}

func pluginProblem(w api.PluginProblem) string {
	return fmt.Sprintf("%s:%d: %s: %s", flat(w.File), w.Line, w.Severity, flat(w.Text))
}

func (a *app) pluginRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run NAME", Short: "Run a plugin now, whatever its gate says",
		Long: `run begins a run of a plugin, beside others that run. One that runs already is not
begun a second time. With a daemon it returns at once; --wait follows the run to its
end. Without a daemon it carries the run out itself.

Exit codes: 0 done, or switched off (which is said) · 1 failed, cancelled, or a person
is needed · 2 bad input.`,
		Example: "  custos plugin run backup --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := api.PluginRunRequest{ID: newID()[:8], Detach: f.detach}
			return a.carryOut(cmd.Context(), f, func(ctx context.Context, c *api.Client) (api.Run, error) { return c.RunPlugin(ctx, args[0], r) })
		},
	}
	f.add(c)
	return c
}

func (a *app) pluginHistory() *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use: "history NAME", Short: "The runs of a plugin, the newest last",
		Example: "  custos plugin history backup --limit 5",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage("cannot show %d runs: want one or more", limit)
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.Runs, error) { return c.PluginRuns(ctx, args[0], limit) }, writeHistory)
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "the highest `COUNT` of runs")
	return c
}

func writeHistory(p *page, v api.Runs) {
	list(p, "It has not been run yet.", v.Runs, []column{{head: "RUN", shorten: middle}, {head: "BEGAN (UTC)"}, {head: "FOR", right: true}, {head: "STATE"}, {head: "BY"}, {head: "WHY", shorten: cut}},
		func(r api.Run) []string {
			return []string{flat(r.ID), clock(r.At, v.At), flat(r.For), flat(r.State), flat(r.By), flat(r.Why)}
		}, v.Next)
}

func (a *app) pluginLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint FOLDER|NAME", Short: "Say everything that is wrong with a plugin",
		Long: `lint reads a plugin.md strictly: errors keep the plugin from being run (exit code 2),
warnings do not. A name with a slash is a folder, or its plugin.md. Nothing is run.`,
		Example: "  custos plugin lint ./backup\n  custos plugin lint backup",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.readPlugin(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showLint(v)
		},
	}
}

// readPlugin reads the plugin of a folder that a person names, or one that Custos
// knows by its name.
func (a *app) readPlugin(ctx context.Context, what string) (api.Plugin, error) {
	if !strings.ContainsRune(what, '/') && what != "." && what != ".." {
		return put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Plugin, error) { return c.Plugin(ctx, what) })
	}
	file := what
	if info, err := os.Stat(what); err == nil && info.IsDir() {
		file = filepath.Join(what, pluginFile)
	}
	text, err := a.input(file, "plugin", largestPlugin+1)
	if err != nil {
		return api.Plugin{}, err
	}
	q := api.PluginQuery{Text: string(text)}
	if q.File, err = filepath.Abs(file); err != nil {
		return api.Plugin{}, usage("cannot find the plugin: %v", err)
	}
	if info, err := os.Stat(filepath.Join(filepath.Dir(q.File), pluginScript)); err == nil && info.Mode().IsRegular() {
		q.Script, q.Executable = true, info.Mode()&0o111 != 0
	}
	return put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Plugin, error) { return c.LintPlugin(ctx, q) })
}

func (a *app) showLint(v api.Plugin) error {
	var told []string
	for _, w := range v.Problems {
		told = append(told, pluginProblem(w))
	}
	if len(told) == 0 && v.Broken != "" {
		told = append(told, flat(v.Broken)) // its folder cannot be read
	}
	if v.Refused && a.json {
		if err := a.show(v, func(*page) {}); err != nil {
			return err
		}
	}
	if v.Refused {
		return &ended{message: "cannot use plugin " + flat(v.Name) + ":\n" + strings.Join(told, "\n")}
	}
	return a.show(v, func(p *page) {
		for _, line := range told {
			p.line("%s", line)
		}
		p.line("%s is good: %s, by %s, %s.", flat(v.Name), exact(v.When), flat(v.How), plural(len(told), "warning"))
	})
}
