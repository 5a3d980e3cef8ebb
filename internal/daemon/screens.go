package daemon

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"custos/internal/agent"
	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/server"
	"custos/internal/session"
)

// screens shows what agents show, as the server's port wants it.
type screens struct{ s *system }

var _ server.Screens = screens{}

// Screen returns the bottom of an agent's terminal, or of what a headless one wrote.
func (x screens) Screen(ctx context.Context, name string, lines int) (string, error) {
	x.s.board.Await(ctx, fleet.PartAgents)
	for _, a := range x.s.board.Snapshot().Agents.Value {
		if a.Name != name {
			continue
		}
		if a.Pane != nil {
			return show(ctx, x.s.world.Tmux, a.Pane.ID, lines)
		}
		return x.headless(ctx, a, lines)
	}
	return "", fmt.Errorf("cannot look at %s: there is no such agent: %w", name, fs.ErrNotExist)
}

func (x screens) headless(ctx context.Context, a fleet.Agent, lines int) (string, error) {
	p := x.s.world.Own.Providers[fleet.WhereHeadless]
	panes, err := p.Panes(ctx)
	for _, pane := range panes {
		if a.Instance != "" && pane.SessionID == a.Instance {
			return show(ctx, p, pane.ID, lines)
		}
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return "", fmt.Errorf("cannot look at %s: it has no terminal and no output of its own: %w", a.Name, err)
}

func show(ctx context.Context, v session.Viewer, id fleet.PaneID, lines int) (string, error) {
	text, err := v.Screen(ctx, id, lines)
	return fleet.Redact(fleet.Text(text)), err
}

// hookFiles edits settings of agent CLIs, as the server's port wants it.
type hookFiles struct{ s *system }

var _ server.HookFiles = hookFiles{}

// EditHooks returns what a deed makes of the settings.
func (h hookFiles) EditHooks(kind, do string, settings []byte) (api.HookFile, error) {
	own := h.s.world.Own
	out := api.HookFile{Kind: kind, Below: agent.HookSettings(kind), Limits: agent.HookLimits(kind), Files: []api.HookExtra{}}
	var extra map[string][]byte
	var err error
	switch {
	case do == "install" && own.Hook == "":
		err = fmt.Errorf("cannot install hooks: custos-hook is not beside custos")
	case do == "install":
		settings, extra, err = own.InstallHooks(kind, settings)
	case do == "uninstall":
		settings, err = agent.UninstallHooks(kind, settings)
	}
	if err != nil {
		return out, err
	}
	state, err := agent.HookStatus(kind, settings)
	if err != nil {
		return out, err
	}
	out.Settings, out.Events, out.Missing, out.Command = string(settings), state.Events, state.Missing, state.Command
	for _, path := range slices.Sorted(maps.Keys(extra)) {
		out.Files = append(out.Files, api.HookExtra{Path: path, Text: string(extra[path])})
	}
	return out, nil
}
