package catalog

import (
	"context"
	"os"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/act/answer"
	"custos/internal/act/checkpoint"
	"custos/internal/act/interrupt"
	"custos/internal/act/nudge"
	recovery "custos/internal/act/recover"
	"custos/internal/act/spawn"
	"custos/internal/act/stopagent"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/hookwire"
	"custos/internal/session"
	"custos/internal/session/tmux"
)

// agentMakers lists the actions on agents.
func agentMakers() []actionMaker {
	return []actionMaker{
		{spawn.Do, "spawn", newSpawn},
		{recovery.Do, "recover", newRecover},
		{stopagent.Do, "stop", Stop},
		{nudge.Do, "nudge", func(w *World) (act.Action, error) {
			return made(w, "nudge", nudge.Options{World: w.agents()}, nudge.New)
		}},
		{answer.Do, "answer", func(w *World) (act.Action, error) {
			return made(w, "answer", answer.Options{World: w.agents()}, answer.New)
		}},
		{interrupt.Do, "interrupt", func(w *World) (act.Action, error) {
			return made(w, "interrupt", interrupt.Options{World: w.agents()}, interrupt.New)
		}},
		{checkpoint.Do, "", func(w *World) (act.Action, error) { return checkpoint.New(checkpoint.Options{World: w.agents()}) }},
	}
}

func newSpawn(w *World) (act.Action, error) {
	g, err := w.git()
	if err != nil {
		return nil, err
	}
	launcher, err := w.launcher()
	if err != nil {
		return nil, err
	}
	return w.starting(made(w, "spawn", spawn.Options{Primary: g.Primary, Launcher: launcher}, spawn.New))
}

func newRecover(w *World) (act.Action, error) {
	launcher, err := w.launcher()
	if err != nil {
		return nil, err
	}
	return w.starting(made(w, "recover", recovery.Options{Launcher: launcher, Home: w.Config.Home}, recovery.New))
}

// launcher starts agents, as the section [launch] says.
func (w *World) launcher() (*agentrun.Launcher, error) {
	accounts, err := Accounts(w.Config, w.Kinds)
	if err != nil {
		return nil, err
	}
	bounds, err := Boundaries(w.Config)
	if err != nil {
		return nil, err
	}
	o := agentrun.LauncherOptions{World: w.agents(), Accounts: accounts, Run: w.Own.Run, Hook: w.Own.Hook, Program: w.Own.Program, Tools: ToolsOf(w.Config), Bounds: bounds,
		Spared: []string{w.Config.StateDir, w.Config.File}}
	if w.Own.Hook != "" {
		o.HookSocket = hookwire.Socket(w.Own.Run)
	}
	policies, err := ReadPolicies(w.Config)
	if err != nil {
		return nil, err
	}
	o.Policy, o.Own = policies.named, ownFolders(w.Config)
	if o.Context, err = contexts(w.Config, w.Kinds); err != nil {
		return nil, err
	}
	if o.Credentials, err = w.credentials(); err != nil {
		return nil, err
	}
	o.Host, _ = os.Hostname()
	if err := w.Config.Section("launch", &o); err != nil {
		return nil, err
	}
	l, err := agentrun.NewLauncher(o)
	return l, w.Config.Misread("launch", err)
}

// starting marks an action that needs the shim as one that cannot be done where
// there is none.
func (w *World) starting(a act.Action, err error) (act.Action, error) {
	if err != nil || w.Own.Missing == "" {
		return a, err
	}
	return unable{a, w.Own.Missing}, nil
}

// unable is an action that cannot be done here.
type unable struct {
	act.Action
	why string
}

// Ability says so.
func (u unable) Ability() fleet.Ability {
	a := u.Action.Ability()
	a.Cannot, a.Needs = u.why, "make build"
	return a
}

// Stop makes the action that ends an agent, alone.
func Stop(w *World) (act.Action, error) {
	return made(w, "stop", stopagent.Options{World: w.agents()}, stopagent.New)
}

// agents is where actions on agents find them.
func (w *World) agents() agentrun.World {
	return agentrun.World{Providers: w.Own.Providers, Elsewhere: w.elsewhere, Kinds: w.Kinds, Shims: w.Own.Shims,
		Hosted: tmux.Hosted, Registered: w.registration, Hooks: w.HooksOf, Written: w.written, Now: w.Now, Boot: w.From.Boot}
}

// TurnOf is what became of the turn that an action which gave an agent a text has begun.
func (w *World) TurnOf(ctx context.Context, x fleet.ActionRecord) (fleet.AgentTurn, error) {
	a, unknown := x.Target.Agent, fleet.AgentTurn{State: fleet.TurnUnknown}
	if a == nil || x.Result == nil {
		return unknown, nil
	}
	told, err := w.agents().Reported(ctx, x.StartedAt, a.Instance, a.Process)
	if err != nil {
		return unknown, err
	}
	return agent.TurnOf(told, x.StartedAt, x.Result.Ended), nil
}

// elsewhere is a provider for another tmux server, for agents that were adopted.
// Only typing goes through it.
func (w *World) elsewhere(socket string) (session.Provider, error) {
	return tmux.NewProvider(tmux.ProviderOptions{Socket: socket, Boot: w.From.Boot})
}

// Painter is who looks at a pane with its colours, and whether they may often: those of our
// own server are asked for by a client that is there already, any other's by one each time.
func (w *World) Painter(id fleet.PaneID) (p session.Painter, often bool) {
	if ours, ok := w.Own.Providers[fleet.WhereTmux].(session.Painter); ok && fleet.RawPath(id.Socket) == w.Own.Socket {
		return ours, true
	}
	return w.Tmux, false
}

// Keyboard is who presses keys in a pane, of our own server or of that of an adopted agent.
func (w *World) Keyboard(id fleet.PaneID) (session.Keyboard, error) {
	if ours, ok := w.Own.Providers[fleet.WhereTmux].(session.Keyboard); ok && fleet.RawPath(id.Socket) == w.Own.Socket {
		return ours, nil
	}
	return tmux.NewProvider(tmux.ProviderOptions{Socket: fleet.RawPath(id.Socket), Boot: w.From.Boot})
}

func (w *World) registration(ctx context.Context, name string) (fleet.Registration, bool, error) {
	all, err := w.Registered(ctx)
	for _, r := range all {
		if r.Name == name {
			return r, true, err
		}
	}
	return fleet.Registration{}, false, err
}
