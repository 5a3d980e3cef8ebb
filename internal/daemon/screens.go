package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/server"
	"custos/internal/session"
)

// screens shows what agents show, as the server's port wants it.
type screens struct{ s *system }

var _ control.Screens = screens{}

// Screen returns the bottom of an agent's terminal, or of what a headless one wrote.
// It redacts before it cuts: half of a secret would not be known for one.
func (x screens) Screen(ctx context.Context, name string, lines int) (string, error) {
	x.s.board.Await(ctx, fleet.PartAgents)
	for _, a := range x.s.board.Snapshot().Agents.Value {
		if a.Name != name {
			continue
		}
		if a.Pane != nil {
			text, err := x.s.world.Tmux.Screen(ctx, a.Pane.ID, mostLines)
			return bottom(unbroken(fleet.Text(text)), lines), err
		}
		text, err := x.headless(ctx, a)
		return bottom(fleet.Text(text), lines), err
	}
	return "", fs.ErrNotExist
}

// mostLines is more than any terminal shows, and all that is read of a log.
const mostLines = 10_000

func (x screens) headless(ctx context.Context, a fleet.Agent) (string, error) {
	p := x.s.world.Own.Providers[fleet.WhereHeadless]
	panes, err := p.Panes(ctx)
	for _, pane := range panes {
		if a.Instance != "" && pane.SessionID == a.Instance {
			return p.Screen(ctx, pane.ID, mostLines)
		}
	}
	if err == nil || errors.Is(err, session.ErrAbsent) {
		return "", fs.ErrNotExist
	}
	return "", fmt.Errorf("cannot look at %s: %w", a.Name, err)
}

// unbroken hides what the edge of a terminal has broken.
func unbroken(text string) string {
	return strings.Join(fleet.RedactWrapped(strings.Split(text, "\n"), fleet.Redact), "\n")
}

// bottom redacts a text and returns its last lines.
func bottom(text string, lines int) string {
	all := strings.Split(fleet.Redact(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// hookFiles edits settings of agent CLIs, as the server's port wants it.
type hookFiles struct{ s *system }

var _ server.HookFiles = hookFiles{}

// EditHooks returns what a deed makes of the settings.
func (h hookFiles) EditHooks(kind, do string, settings []byte) (api.HookFile, error) {
	world := h.s.world
	out := api.HookFile{Kind: kind, Below: world.Kinds.HookSettings(kind), Limits: world.Kinds.HookLimits(kind), Files: []api.HookExtra{}}
	var extra map[string][]byte
	accounts, err := catalog.Accounts(world.Config, world.Kinds)
	out.Also = world.Kinds.HookSettingsOf(kind, accounts)
	switch {
	case err != nil:
	case do == "install" && world.Own.Hook == "":
		err = fmt.Errorf("cannot install hooks: custos-hook is not beside custos")
	case do == "install":
		settings, extra, err = world.InstallHooks(kind, settings)
	case do == "uninstall":
		settings, err = world.Kinds.UninstallHooks(kind, settings)
	}
	if err != nil {
		return out, err
	}
	state, err := world.Kinds.HookStatus(kind, settings)
	if err != nil {
		return out, err
	}
	out.Settings, out.Events, out.Missing, out.Command = string(settings), state.Events, state.Missing, state.Command
	for _, path := range slices.Sorted(maps.Keys(extra)) {
		out.Files = append(out.Files, api.HookExtra{Path: path, Text: string(extra[path])})
	}
	return out, nil
}
