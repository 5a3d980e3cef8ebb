package web

import (
	"context"
	"net/http"

	"custos/internal/api"
)

// settingsData is custos.toml as it is in force.
type settingsData struct {
	api.Settings
	Hidden int // of Settings: their values are not shown
	Given  int // of Settings: a file says them
}

func (s *site) settings(ctx context.Context, _ *http.Request) (page, error) {
	v, err := s.api.Settings(ctx)
	if err != nil {
		return page{}, err
	}
	d := settingsData{Settings: v}
	for _, one := range v.Settings {
		if one.Hidden {
			d.Hidden++
		}
		if one.Line > 0 {
			d.Given++
		}
	}
	return page{Name: "settings", Title: "Settings", At: v.At, Data: d}, nil
}
