package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Plugins are the plugins there are, and their runs. To read them runs nothing of them.
type Plugins interface {
	// Plugins lists them, in the order in which they are run.
	Plugins(ctx context.Context) ([]api.PluginRow, error)
	// Plugin returns one; fs.ErrNotExist when there is no such plugin.
	Plugin(ctx context.Context, name string) (api.Plugin, error)
	// Lint reads the text of a file; what is wrong with it is in the answer.
	Lint(ctx context.Context, q api.PluginQuery) (api.Plugin, error)
	// StartPlugin writes a run down and returns it as the first pass left it. Errors
	// are those of Formulas.Start, and fs.ErrNotExist.
	StartPlugin(ctx context.Context, name string, r api.PluginRunRequest, by string) (fleet.Run, error)
	// History lists the newest runs of a plugin, the newest last. fs.ErrNotExist when
	// there never was such a plugin.
	History(ctx context.Context, name string, limit int) ([]fleet.Run, error)
}

// plugins are read by anyone, and run by a person.
func plugins() Noun {
	return Noun{"plugins", []Verb{
		{Name: "list", Do: asks((*Control).plugins)},
		{Name: "read", Large: true, Do: given((*Control).lintPlugin)},
		{Name: "show", Do: asks((*Control).plugin)},
		{Name: "run", Access: Person, Do: given((*Control).runPlugin)},
		{Name: "runs", Do: asks((*Control).pluginRuns)},
	}}
}

func (c *Control) plugins(ctx context.Context, call Call) (api.Plugins, error) {
	rows, err := c.Plugins.Plugins(ctx)
	if err != nil {
		return api.Plugins{}, err
	}
	out := api.Plugins{At: c.Now().Wall.UTC(), Watched: c.Watched, Plugins: rows, Next: []api.Hint{}}
	if out.Plugins == nil {
		out.Plugins = []api.PluginRow{}
	}
	for i, r := range rows {
		if r.NextAt == nil {
			rows[i].NextAt = []time.Time{}
		}
		if r.Broken != "" {
			out.Next = append(out.Next, api.Hint{Command: api.Typed("custos", "plugin", "lint", path.Dir(r.Source)), What: "everything that is wrong with " + r.Name})
		}
	}
	if !c.Watched && len(rows) > 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos up", What: "no daemon runs now: no plugin runs by itself"})
	}
	return out, nil
}

func (c *Control) plugin(ctx context.Context, call Call) (api.Plugin, error) {
	name := call.ID
	v, err := c.Plugins.Plugin(ctx, name)
	if err != nil {
		return api.Plugin{}, c.noPlugin(ctx, name, err)
	}
	v.Next = []api.Hint{{Command: api.Typed("custos", "plugin", "history", name), What: "its runs"}}
	if !v.Refused && v.Disabled == "" {
		v.Next = append(v.Next, api.Hint{Command: api.Typed("custos", "plugin", "run", name), What: "run it now, whatever its gate says"})
	}
	return v, nil
}

// noPlugin names the plugin that may be meant, where there is none.
func (c *Control) noPlugin(ctx context.Context, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return Reasoned(err)
	}
	var names []string
	if rows, err := c.Plugins.Plugins(ctx); err == nil {
		names = each(rows, func(r api.PluginRow) string { return r.Name })
	}
	return missing("plugin", name, names, "custos plugin list")
}

// lintPlugin reads the text of a plugin.md; it runs nothing of it.
func (c *Control) lintPlugin(ctx context.Context, call Call, q api.PluginQuery) (api.Plugin, error) {
	if !path.IsAbs(q.File) {
		return api.Plugin{}, api.AsBadInput(fmt.Errorf("cannot read a plugin: %q is no absolute path", fleet.Line(q.File, 200)))
	}
	v, err := c.Plugins.Lint(ctx, q)
	v.Next = []api.Hint{}
	return v, err
}

// runPlugin begins a run of a plugin.
func (c *Control) runPlugin(ctx context.Context, call Call, r api.PluginRunRequest) (api.Run, error) {
	name := call.ID
	run, err := c.Plugins.StartPlugin(ctx, name, r, call.By)
	switch {
	case errors.Is(err, ledger.ErrTaken):
		return api.Run{}, c.taken(ctx, api.Formula{FormulaRow: api.FormulaRow{Name: fleet.PluginFormula(name)}}, err)
	case err != nil:
		return api.Run{}, c.noPlugin(ctx, name, err)
	}
	if c.Attend != nil && !r.Detach && !run.IsOver() {
		c.Attend()
	}
	return c.RunView(run), nil
}

func (c *Control) pluginRuns(ctx context.Context, call Call) (api.Runs, error) {
	name := call.ID
	limit, err := strconv.Atoi(call.Ask("limit"))
	if err != nil || limit <= 0 || limit > runsShown {
		limit = runsShown
	}
	list, err := c.Plugins.History(ctx, name, limit)
	if err != nil {
		return api.Runs{}, c.noPlugin(ctx, name, err)
	}
	out := api.Runs{At: c.Now().Wall.UTC(), Runs: make([]api.Run, 0, len(list)), Next: []api.Hint{}}
	for _, r := range list {
		out.Runs = append(out.Runs, c.RunView(r))
	}
	return out, nil
}
