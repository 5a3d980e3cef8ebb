package daemon

import (
	"context"

	"custos/internal/api"
)

// settingsShown are those in force. What may be a secret is not among them.
func (s *system) settingsShown(context.Context) api.Settings {
	out := api.Settings{At: s.world.Now().Wall.UTC(), File: s.cfg.File, Found: s.cfg.Found, Trouble: s.fileTrouble(), Settings: []api.Setting{}}
	for _, e := range s.cfg.Shown() {
		one := api.Setting{Key: e.Key, Value: e.Value, Hidden: e.Hidden, Line: e.Line}
		if e.Line > 0 {
			one.File = s.cfg.File
		}
		out.Settings = append(out.Settings, one)
	}
	return out
}
