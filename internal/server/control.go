package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"custos/internal/control"
	"custos/internal/fleet"
)

// spelled is how a verb is asked for over HTTP. It is the same for each noun.
func spelled(noun, verb string) (method, pattern string) {
	noun = "/v1/" + noun
	switch verb {
	case "list", "get":
		return http.MethodGet, noun
	case "looks": // all of them
		return http.MethodGet, noun + "/" + verb
	case "show":
		return http.MethodGet, noun + "/{id}"
	case "runs", "handoff", "screen", "log", "offer":
		return http.MethodGet, noun + "/{id}/" + verb
	case "add", "read", "trust", "pause":
		return http.MethodPost, noun
	case "change":
		return http.MethodPost, noun + "/{id}"
	case "switch":
		return http.MethodPost, noun + "/{id}/{do}"
	case "freeze", "thaw", "tell": // there is one brake, and there are all people
		return http.MethodPost, "/v1/" + verb
	case "left": // for an agent: who calls, or who is named
		return http.MethodGet, "/v1/left"
	case "beat": // the agent is who calls
		return http.MethodPost, "/v1/heartbeat"
	case "fix": // there is one installation
		return http.MethodPost, noun + "/fix"
	case "hand-over":
		return http.MethodPost, "/v1/handoff"
	}
	return http.MethodPost, noun + "/{id}/" + verb
}

// controlRoutes are those of the nouns of package control.
func controlRoutes() (out []route) {
	for _, n := range control.Nouns() {
		for _, v := range n.Verbs {
			method, pattern := spelled(n.Name, v.Name)
			out = append(out, route{method: method, pattern: pattern, access: accessOf(v.Access), maxBody: mostOf(v), handle: carried(v)})
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
		call := control.Call{From: c.From, Asks: c.Asks, ID: req.PathValue("id"), Do: req.PathValue("do"), Ask: req.URL.Query().Get, All: func(key string) []string { return req.URL.Query()[key] }, Read: func(into any) error { return decode(req, into) }}
		if v.Access != control.Anyone {
			call.By = c.Name()
		}
		if v.Access == control.NoAgent {
			if err := s.noAgent(req.Context(), c); err != nil {
				return nil, err
			}
		}
		if v.Access == control.Author {
			if err := s.author(req.Context(), c, &call); err != nil {
				return nil, err
			}
			if errors.Is(call.Barred, control.ErrStranger) && req.Method != http.MethodGet {
				return nil, call.Barred
			}
		}
		out, err := v.Do(s.Control, req.Context(), call)
		if err == nil && req.Method != http.MethodGet {
			s.Changes.Note()
		}
		return out, err
	}
}

// author says in whose name a call is: the caller's user's, or that of the agent that it
// is. It asks once: asked twice, a look that failed once would make two of one.
func (s *server) author(ctx context.Context, c Caller, call *control.Call) error {
	agent, err := s.agentOf(ctx, c)
	call.Barred = barred(c, agent, err)
	switch {
	case err != nil:
		call.By, call.Doubt = fleet.ByAgent(control.Unnamed), fmt.Errorf("process %d: it is not known which agent it is: %w", c.PID, err)
		return nil
	case agent != "":
		agent, call.Marked = strings.CutPrefix(agent, control.Marked)
		call.By = fleet.ByAgent(agent)
	}
	return ctx.Err()
}
