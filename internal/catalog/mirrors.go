package catalog

import (
	"context"
	"fmt"

	"custos/internal/config"
	"custos/internal/report/alertmanager"
	"custos/internal/report/desktop"
)

// local makes the notifiers that need no token, or may do without one. It says
// whether the type is one of those.
func (p *People) local(w *World, name string, s notifierSection) (known bool, err error) {
	switch s.Type {
	case "desktop":
		p.Notifiers = append(p.Notifiers, desktop.New(desktop.Options{Name: name, Getenv: w.Getenv}))
		return true, nil
	case "alertmanager":
		return true, p.alertmanager(w, name, s)
	}
	return false, nil
}

func (p *People) alertmanager(w *World, name string, s notifierSection) error {
	o := alertmanager.Options{Name: name, Server: s.Server, Host: w.From.Host}
	if s.TokenFile != "" || len(s.TokenCommand) > 0 || s.TokenEnv != "" {
		var err error
		var token func(context.Context) (string, error)
		if token, err = s.token(w); err != nil {
			return err
		}
		o.Token = token
	}
	if s.Every != "" {
		var err error
		if o.Every, err = config.Duration(s.Every); err != nil {
			return fmt.Errorf("every: %w", err)
		}
	}
	m, err := alertmanager.New(o)
	if err == nil {
		p.Mirrors = append(p.Mirrors, m)
	}
	return err
}
