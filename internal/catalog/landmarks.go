package catalog

import (
	"custos/internal/act"
	"custos/internal/act/installhooks"
	"custos/internal/agent"
)

// InstallHooks returns settings of an agent CLI with our hooks in them, and the
// files beside them, by path, that the hooks need.
func (o *Own) InstallHooks(kind string, settings []byte) (next []byte, extra map[string][]byte, err error) {
	if next, err = agent.InstallHooks(kind, settings, o.Hook, o.Run); err != nil || kind != "opencode" {
		return next, nil, err
	}
	_, _, extra, err = agent.LaunchHooks(kind, o.Hook, o.Run) // its settings only name a plugin
	return next, extra, err
}

func newInstallHooks(w *World) (act.Action, error) {
	o := installhooks.Options{Edit: func(kind string, settings []byte) ([]byte, map[string][]byte, bool, error) {
		state, err := agent.HookStatus(kind, settings)
		if err != nil {
			return nil, nil, false, err
		}
		next, extra, err := w.Own.InstallHooks(kind, settings)
		return next, extra, len(state.Events) > 0, err
	}}
	if w.Own.Hook == "" {
		o.Missing = "custos-hook is not beside custos"
	}
	return installhooks.New(o), nil
}
