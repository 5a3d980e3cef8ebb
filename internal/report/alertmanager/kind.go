package alertmanager

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/report"
)

// Keys are those of its section.
type Keys struct {
	report.Token
	report.Authority
	Server string `toml:"server" is:"name"`
	Every  string `toml:"every" is:"duration 1ms.."`
}

// Kind is the type "alertmanager", which needs no token.
func Kind() report.Kind {
	return report.KindOf("alertmanager", "Prometheus' Alertmanager",
		"shown what fires, again and again; it groups, silences and notifies people by itself ([metrics.md](metrics.md#alertmanager))", newMirror)
}

func newMirror(s report.Setup, k Keys) (r report.Receiver, err error) {
	o := Options{Name: s.Name, Server: k.Server, Host: s.Host}
	if k.Said() {
		if o.Token, err = s.Secret(k.Token); err != nil {
			return r, err
		}
	}
	if k.Every != "" {
		if o.Every, err = fleet.ParseDuration(k.Every); err != nil {
			return r, fmt.Errorf("every: %w", err)
		}
	}
	if o.HTTP, err = s.HTTP(k.Authority); err != nil {
		return r, err
	}
	m, err := New(o)
	if err == nil {
		r.Mirror = m
	}
	return r, err
}
