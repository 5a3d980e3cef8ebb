package server

import (
	"context"
	"net/http"

	"custos/internal/control"
	"custos/internal/fleet"
)

// spelled is how a verb is asked for over HTTP: the method, and what follows the noun. It
// is the same for each noun.
func spelled(verb string) (method, tail string) {
	switch verb {
	case "list":
		return http.MethodGet, ""
	case "show":
		return http.MethodGet, "/{id}"
	case "add":
		return http.MethodPost, ""
	case "change":
		return http.MethodPost, "/{id}"
	}
	return http.MethodPost, "/{id}/" + verb
}

// controlRoutes are those of the nouns of package control.
func controlRoutes() (out []route) {
	for _, n := range control.Nouns() {
		for _, v := range n.Verbs {
			method, tail := spelled(v.Name)
			out = append(out, route{method: method, pattern: "/v1/" + n.Name + tail, access: accessOf(v.Access), maxBody: mostOf(v), handle: carried(v)})
		}
	}
	return out
}

func accessOf(a control.Access) access {
	if a == control.Person {
		return person
	}
	return anyone
}

func mostOf(v control.Verb) int64 {
	if v.Large {
		return orderSize
	}
	return small
}

// carried says who asks, and for what.
func carried(v control.Verb) func(*server, *http.Request, Caller) (any, error) {
	return func(s *server, req *http.Request, c Caller) (_ any, err error) {
		call := control.Call{ID: req.PathValue("id"), Ask: req.URL.Query().Get, Read: func(into any) error { return decode(req, into) }}
		switch v.Access {
		case control.Author:
			call.By, err = s.writer(req.Context(), c)
		case control.Person:
			call.By = c.Name()
		}
		if err != nil {
			return nil, err
		}
		return v.Do(s.Control, req.Context(), call)
	}
}

// writer is the author of what a caller writes into the records: its user, or the
// agent that it is. Whoever cannot be shown to be a person is an agent without a
// name, who owns nothing.
func (s *server) writer(ctx context.Context, c Caller) (string, error) {
	agent, err := s.teller(ctx, c)
	if err != nil {
		return "", err
	}
	if agent == "" {
		return c.Name(), nil
	}
	return fleet.ByAgent(agent), nil
}
