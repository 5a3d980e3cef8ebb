package server

import (
	"context"

	"custos/internal/fleet"
)

// showing is a page that listens when it is asked to.
type showing struct {
	on   bool
	list []fleet.WebSession
}

func (s *showing) Open(context.Context) (string, error) {
	s.on = true
	return "http://127.0.0.1:1", nil
}
func (s *showing) Stop(context.Context) error { s.on = false; return nil }
func (s *showing) Pages() []string            { return []string{"/alerts"} }
func (s *showing) Where() (address, trouble string) {
	if s.on {
		return "http://127.0.0.1:1", ""
	}
	return "", ""
}
func (s *showing) Sessions(context.Context) ([]fleet.WebSession, error) { return s.list, nil }
func (s *showing) Edit(_ context.Context, edit func([]fleet.WebSession) ([]fleet.WebSession, fleet.Event, error)) error {
	list, _, err := edit(s.list)
	if err == nil {
		s.list = list
	}
	return err
}
