package catalog

import (
	"custos/internal/act"
	"custos/internal/act/installhooks"
)

// InstallHooks returns settings of an agent CLI with our hooks in them, and the
// files beside them, by path, that the hooks need.
func (w *World) InstallHooks(kind string, settings []byte) (next []byte, extra map[string][]byte, err error) {
	if next, err = w.Kinds.InstallHooks(kind, settings, w.Own.Hook, w.Own.Run); err != nil {
		return nil, nil, err
	}
	return next, w.Kinds.HookFiles(kind, w.Own.Hook, w.Own.Run), nil
}

func newInstallHooks(w *World) (act.Action, error) {
	o := installhooks.Options{Edit: func(kind string, settings []byte) ([]byte, map[string][]byte, bool, error) {
		state, err := w.Kinds.HookStatus(kind, settings)
		if err != nil {
			return nil, nil, false, err
		}
		next, extra, err := w.InstallHooks(kind, settings)
		return next, extra, len(state.Events) > 0, err
	}}
	if w.Own.Hook == "" {
		o.Missing = "custos-hook is not beside custos"
	}
	return installhooks.New(o), nil
}
