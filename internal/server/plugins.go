package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// Plugins are the plugins there are. They are read, and nothing of them is run.
type Plugins interface {
	// Plugins lists them, in the order in which they are run.
	Plugins(ctx context.Context) ([]api.PluginRow, error)
	// Plugin returns one; fs.ErrNotExist when there is no such plugin.
	Plugin(ctx context.Context, name string) (api.Plugin, error)
	// Lint reads the text of a file; what is wrong with it is in the answer.
	Lint(ctx context.Context, q api.PluginQuery) (api.Plugin, error)
}

// PluginRuns are the runs of plugins.
type PluginRuns interface {
	// StartPlugin writes a run down and returns it as the first pass left it. Errors
	// are those of Runs.Start, and fs.ErrNotExist.
	StartPlugin(ctx context.Context, name string, r api.PluginRunRequest, by string) (fleet.Run, error)
	// History lists the newest runs of a plugin, the newest last. fs.ErrNotExist when
	// there never was such a plugin.
	History(ctx context.Context, name string, limit int) ([]fleet.Run, error)
}

func (s *server) plugins(req *http.Request, _ Caller) (any, error) {
	rows, err := s.Plugins.Plugins(req.Context())
	if err != nil {
		return nil, err
	}
	out := api.Plugins{At: s.Now().Wall.UTC(), Watched: !s.InProcess, Plugins: rows, Next: []api.Hint{}}
	if out.Plugins == nil {
		out.Plugins = []api.PluginRow{}
	}
	for i, r := range rows {
		if r.NextAt == nil {
			rows[i].NextAt = []time.Time{}
		}
		if r.Broken != "" {
			out.Next = append(out.Next, api.Hint{Command: command("custos", "plugin", "lint", path.Dir(r.Source)), What: "everything that is wrong with " + r.Name})
		}
	}
	if s.InProcess && len(rows) > 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos up", What: "nobody watches now: no plugin runs by itself"})
	}
	return out, nil
}

func (s *server) plugin(req *http.Request, _ Caller) (any, error) {
	name := req.PathValue("name")
	v, err := s.Plugins.Plugin(req.Context(), name)
	if err != nil {
		return nil, s.noPlugin(req.Context(), name, err)
	}
	v.Next = []api.Hint{{Command: command("custos", "plugin", "history", name), What: "its runs"}}
	if !v.Refused && v.Disabled == "" {
		v.Next = append(v.Next, api.Hint{Command: command("custos", "plugin", "run", name), What: "run it now, whatever its gate says"})
	}
	return v, nil
}

// noPlugin names the plugin that may be meant, where there is none.
func (s *server) noPlugin(ctx context.Context, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return control.Reasoned(err)
	}
	var names []string
	if rows, err := s.Plugins.Plugins(ctx); err == nil {
		names = each(rows, func(r api.PluginRow) string { return r.Name })
	}
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find plugin %q%s", fleet.Line(name, 100), nearest.Hint(name, names)), Hint: "custos plugin list"}
}

// lintPlugin reads the text of a plugin.md; it runs nothing of it.
func (s *server) lintPlugin(req *http.Request, _ Caller) (any, error) {
	var q api.PluginQuery
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if !path.IsAbs(q.File) {
		return nil, api.AsBadInput(fmt.Errorf("cannot read a plugin: %q is no absolute path", fleet.Line(q.File, 200)))
	}
	v, err := s.Plugins.Lint(req.Context(), q)
	v.Next = []api.Hint{}
	return v, err
}

// runPlugin begins a run of a plugin. It takes a person: the route says so.
func (s *server) runPlugin(req *http.Request, c Caller) (any, error) {
	var r api.PluginRunRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	name := req.PathValue("name")
	run, err := s.PluginRuns.StartPlugin(req.Context(), name, r, c.Name())
	switch {
	case errors.Is(err, ledger.ErrTaken):
		return nil, s.taken(req.Context(), api.Formula{FormulaRow: api.FormulaRow{Name: fleet.PluginFormula(name)}}, err)
	case err != nil:
		return nil, s.noPlugin(req.Context(), name, err)
	}
	if s.Attend != nil && !r.Detach && !run.IsOver() {
		s.Attend()
	}
	return s.runView(run), nil
}

func (s *server) pluginRuns(req *http.Request, _ Caller) (any, error) {
	name := req.PathValue("name")
	limit, err := strconv.Atoi(req.URL.Query().Get("limit"))
	if err != nil || limit <= 0 || limit > runsShown {
		limit = runsShown
	}
	list, err := s.PluginRuns.History(req.Context(), name, limit)
	if err != nil {
		return nil, s.noPlugin(req.Context(), name, err)
	}
	out := api.Runs{At: s.Now().Wall.UTC(), Runs: make([]api.Run, 0, len(list)), Next: []api.Hint{}}
	for _, r := range list {
		out.Runs = append(out.Runs, s.runView(r))
	}
	return out, nil
}
