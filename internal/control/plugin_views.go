package control

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"custos/internal/api"
	follow "custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/library"
	"custos/internal/plugin"
)

// Plugins lists the plugins.
func (d OnDisk) Plugins(ctx context.Context) ([]api.PluginRow, error) {
	now := d.Now()
	past, err := d.Past(ctx)
	if err != nil {
		return nil, err
	}
	seen := d.Look(ctx, past, d.Library.Plugins.RestsOn(ctx))
	due := d.due(ctx, seen)
	var rows []api.PluginRow
	for _, x := range d.Library.Plugins.All(ctx) {
		row := pluginRow(x, d.Library.Plugins.Disabled(x))
		if x.Broken == "" {
			if err := d.news(ctx, &row, x); err != nil {
				return nil, err
			}
			outlook(&row, x, due[x.Schedule.Name], past, seen, now)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// due is the schedules of plugins as a pass would see them now.
func (d OnDisk) due(ctx context.Context, seen *fleet.Snapshot) map[string]fleet.Schedule {
	p := d.Library.Plugins.Policy(ctx, seen)
	out := map[string]fleet.Schedule{}
	for _, s := range p.Schedules {
		out[s.Name] = s
	}
	return out
}

// news is how the newest runs of a plugin went, by schedule or by hand.
func (d OnDisk) news(ctx context.Context, row *api.PluginRow, x library.Plugin) error {
	runs, err := d.Runs(ctx, fleet.RunFilter{Formula: x.Schedule.Name, Limit: library.RunsCounted})
	if err != nil || len(runs) == 0 {
		return err
	}
	last := runs[len(runs)-1]
	at := last.At.Wall.UTC()
	row.LastRun, row.LastAt, row.LastState = last.ID, &at, string(last.State)
	row.Changed = last.Digest != "" && last.Digest != x.Schedule.Run.Digest
	row.Failures = library.FailuresInARow(runs)
	return nil
}

// outlook says when a plugin is run next, or why it is not.
func outlook(row *api.PluginRow, x library.Plugin, s fleet.Schedule, past fleet.Past, seen *fleet.Snapshot, now fleet.Instant) {
	switch {
	case row.Disabled != "":
		row.WhyNot = "disabled: " + row.Disabled
	case x.Gate.Type == plugin.Manual:
		row.WhyNot = "by hand only"
	default:
		row.Holds, row.WhyNot = s.Holds, cmp.Or(whyNot(s, past, ""), follow.Waits(s, past, *seen))
	}
	if row.WhyNot == "" {
		row.NextAt = nextTimes(s, past, now)
	}
}

func pluginRow(x library.Plugin, disabled string) api.PluginRow {
	row := api.PluginRow{Name: fleet.Line(x.Name, 100), Description: fleet.Line(x.Description, 200), Version: fleet.Line(x.Version, 40), Gate: string(x.Gate.Type), How: string(x.How),
		Project: fleet.Line(x.Project(), 200), Source: fleet.Path(x.File), Labels: x.Labels, Severity: x.Severity, Parallel: x.Parallel, Disabled: disabled, Broken: x.Broken}
	if x.Broken == "" {
		row.When = pluginWhen(x)
	}
	return row
}

// pluginWhen is when a plugin is run, in words.
func pluginWhen(x library.Plugin) string {
	switch {
	case x.Gate.Type == plugin.Manual:
		return "by hand"
	case x.Gate.Type == plugin.Event:
		return "on " + fleet.Line(x.Gate.On, 100)
	}
	return x.Schedule.Schedule.Words()
}

// Plugin finds a plugin by its name: of several the one that is run.
func (d OnDisk) Plugin(ctx context.Context, name string) (api.Plugin, error) {
	x, err := d.find(ctx, name)
	if err != nil {
		return api.Plugin{}, err
	}
	rows, err := d.Plugins(ctx)
	if err != nil {
		return api.Plugin{}, err
	}
	out := pluginView(x, d.Library.Plugins.Disabled(x))
	for _, row := range rows {
		if row.Source == out.Source {
			out.PluginRow = row
		}
	}
	return out, nil
}

func (d OnDisk) find(ctx context.Context, name string) (library.Plugin, error) {
	for _, x := range d.Library.Plugins.All(ctx) {
		if x.Name == name {
			return x, nil
		}
	}
	return library.Plugin{}, fmt.Errorf("cannot find plugin %q: %w", fleet.Line(name, 80), fs.ErrNotExist)
}

// Lint reads the text of a plugin.md.
func (d OnDisk) Lint(ctx context.Context, q api.PluginQuery) (api.Plugin, error) {
	dir := filepath.Dir(q.File)
	x := d.Library.Plugins.Lint(ctx, q.File, []byte(q.Text), plugin.Folder{Name: filepath.Base(dir), Script: q.Script, Executable: q.Executable})
	return pluginView(x, ""), nil
}

func pluginView(x library.Plugin, disabled string) api.Plugin {
	out := api.Plugin{PluginRow: pluginRow(x, disabled), Env: x.Env, Notify: x.Notify, Refused: x.Broken != "", Problems: []api.PluginProblem{}}
	if x.How == plugin.ByScript && x.Broken == "" {
		out.Argv = fleet.RedactArgs(x.Command())
	}
	if x.How == plugin.ByAgent {
		out.Text = fleet.Text(x.Body)
	}
	if x.Timeout > 0 {
		out.Timeout = x.Timeout.String()
	}
	for _, p := range x.Problems {
		out.Problems = append(out.Problems, api.PluginProblem{File: fleet.Path(p.File), Line: p.Line, Severity: string(p.Severity), Text: fleet.Line(p.Text, 500)})
	}
	return out
}

// StartPlugin begins a run of a plugin, whatever its gate says.
func (d OnDisk) StartPlugin(ctx context.Context, name string, q api.PluginRunRequest, by string) (fleet.Run, error) {
	x, err := d.find(ctx, name)
	if err != nil {
		return fleet.Run{}, err
	}
	if x.Broken != "" {
		return fleet.Run{}, fmt.Errorf("%w: %s", ledger.ErrIllegal, x.Broken)
	}
	if x.Disabled {
		return fleet.Run{}, fmt.Errorf("%w: %s:%d: it is disabled", ledger.ErrIllegal, fleet.Path(x.File), cmp.Or(lineOf(x, "disabled"), x.Line("gate.disabled")))
	}
	run := x.Schedule.Run.Clone()
	run.ID = library.RunID(strings.ReplaceAll(run.Formula, ":", "-"), q.ID)
	run.Dir, run.By = fleet.Path(filepath.Join(d.Library.Formulas.RunsDir(), run.ID)), by
	if x.Gate.Type == plugin.Cooldown { // so that it is known as the last one, however long ago
		run.Schedule = x.Schedule.Name
	}
	if run.Session != nil {
		run.Session.Agent = run.ID
	}
	return d.Take(ctx, run, q.Detach)
}

// lineOf is where a key at the top was written; 0 when it was not.
func lineOf(x library.Plugin, key string) int {
	if n := x.Line(key); n > 1 {
		return n
	}
	return 0
}

// History lists the newest runs of a plugin, the newest last.
func (d OnDisk) History(ctx context.Context, name string, limit int) ([]fleet.Run, error) {
	runs, err := d.Runs(ctx, fleet.RunFilter{Formula: fleet.PluginFormula(name), Limit: limit})
	if err == nil && len(runs) == 0 {
		_, err = d.find(ctx, name)
	}
	return runs, err
}
