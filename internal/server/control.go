package server

import (
	"context"
	"net/http"
	"strings"

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
	case "runs":
		return http.MethodGet, "/{id}/runs"
	case "add", "read", "trust", "pause":
		return http.MethodPost, ""
	case "change":
		return http.MethodPost, "/{id}"
	case "switch":
		return http.MethodPost, "/{id}/{do}"
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
	return func(s *server, req *http.Request, c Caller) (any, error) {
		call := control.Call{ID: req.PathValue("id"), Do: req.PathValue("do"), Ask: req.URL.Query().Get, Read: func(into any) error { return decode(req, into) }}
		if v.Access != control.Anyone {
			call.By = c.Name()
		}
		if v.Access == control.Author {
			if err := s.author(req.Context(), c, &call); err != nil {
				return nil, err
			}
		}
		return v.Do(s.Control, req.Context(), call)
	}
}

// author says in whose name a call is: the caller's user's, or that of the agent that it
// is. It asks once: asked twice, a look that failed once would tell two of one.
func (s *server) author(ctx context.Context, c Caller, call *control.Call) error {
	if s.AgentOf == nil {
		return nil
	}
	agent, err := s.AgentOf(ctx, c)
	call.Barred = barred(c, agent, err)
	switch {
	case err != nil:
		call.By = fleet.ByAgent(control.Unnamed)
		return nil
	case agent != "":
		call.By = fleet.ByAgent(strings.TrimPrefix(agent, control.Marked))
	}
	return ctx.Err()
}
