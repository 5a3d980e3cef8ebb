package cli_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// pluginBook is the plugins of a world: backup, which runs, and one that is broken.
// Its runs are those of the formula nightly.
type pluginBook struct{ book }

func (b *pluginBook) Plugins(context.Context) ([]api.PluginRow, error) {
	at := b.w.pass.Snapshot.At.Wall.UTC()
	return []api.PluginRow{
		{Name: "backup", Gate: "cooldown", When: "24h0m0s after its end", How: "script", Source: "/home/plugins/backup/plugin.md", NextAt: []time.Time{at.Add(time.Hour)}, LastRun: "plugin-backup-1", LastAt: &at, LastState: "done", Changed: true},
		{Name: "bad", Source: "/home/plugins/bad/plugin.md", Broken: "/home/plugins/bad/plugin.md:4: gate type \"never\" is\x1b[31m unknown"},
	}, nil
}

// Code is a project of which something has changed.
func (b *pluginBook) Code(context.Context) ([]fleet.CodeFacts, error) {
	return []fleet.CodeFacts{{Dir: "/home/shop/.custos", Commit: "c0ffee", Digest: "0123456789abcdef", Trusted: 1, Changes: fleet.Known("~ formulas/a.toml"), Loose: "+ plugins/x/run.sh", Diff: "-a\n+\x1b[31mb\n"}}, nil
}

func (b *pluginBook) Trust(context.Context, string, string, string) error { return nil }

func (b *pluginBook) Plugin(ctx context.Context, name string) (api.Plugin, error) {
	rows, _ := b.Plugins(ctx)
	for _, r := range rows {
		if r.Name == name {
			return api.Plugin{PluginRow: r, Argv: []string{"/home/plugins/backup/run.sh", "a b"}, Problems: []api.PluginProblem{}, Refused: r.Broken != ""}, nil
		}
	}
	return api.Plugin{}, fmt.Errorf("no: %w", fs.ErrNotExist)
}

func (b *pluginBook) Lint(_ context.Context, q api.PluginQuery) (api.Plugin, error) {
	p := api.Plugin{PluginRow: api.PluginRow{Name: "here", When: "by hand", How: "agent"}, Problems: []api.PluginProblem{}}
	if q.Script {
		p.How = "script"
	}
	if strings.Contains(q.Text, "naem") || q.Script && !q.Executable {
		p.Refused = true
		p.Problems = append(p.Problems, api.PluginProblem{File: q.File, Line: 2, Severity: "error", Text: `unknown key "naem"`})
	}
	return p, nil
}

func (b *pluginBook) StartPlugin(ctx context.Context, name string, r api.PluginRunRequest, by string) (fleet.Run, error) {
	switch name {
	case "backup":
		return b.Start(ctx, api.RunRequest{Name: "nightly", Dir: "/"}, by)
	case "bad":
		return fleet.Run{}, fmt.Errorf("%w: plugin.md:4: gate type", ledger.ErrIllegal)
	}
	return fleet.Run{}, fmt.Errorf("no: %w", fs.ErrNotExist)
}

func (b *pluginBook) History(ctx context.Context, name string, limit int) ([]fleet.Run, error) {
	if name != "backup" {
		return nil, fmt.Errorf("no: %w", fs.ErrNotExist)
	}
	r := *b.known("nightly-2")
	r.State, r.Why = fleet.RunFailed, "step run failed: it ended with exit status 3"
	return []fleet.Run{r}, nil
}
