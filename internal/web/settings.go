package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"custos/internal/api"
)

// settingsData is custos.toml as it is in force.
type settingsData struct {
	api.Settings
	Hidden int // of Settings: their values are not shown
	Given  int // of Settings: a file says them

	Receivers   []api.Receiver
	NoReceivers string // why they are not known
	Tried       string // the receiver that has taken a test message just now; "" for none
}

func (s *site) settings(ctx context.Context, r *http.Request) (page, error) {
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
	told, err := s.api.Receivers(ctx)
	if err != nil {
		d.NoReceivers = api.ErrorOf(err).Message
	}
	d.Receivers = told.Receivers
	if tried := r.URL.Query().Get("tried"); r.URL.Query().Has("done") && slices.ContainsFunc(d.Receivers, func(one api.Receiver) bool { return one.Name == tried }) {
		d.Tried = tried
	}
	return page{Name: "settings", Title: "Settings", At: v.At, Data: d}, nil
}

// tryReceiver sends a test message to one receiver.
func (s *site) tryReceiver(ctx context.Context, r *http.Request) (string, error) {
	v, err := s.api.Try(ctx, r.PathValue("name"))
	if err != nil {
		return "", err
	}
	return "/settings?" + url.Values{"done": {"try"}, "tried": {v.To}}.Encode() + "#receivers", nil
}

func receiverPath(name string) string { return "/settings/receivers/" + url.PathEscape(name) }
