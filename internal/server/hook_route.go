package server

import (
	"fmt"
	"io"
	"net/http"

	"custos/internal/api"
	"custos/internal/hookwire"
)

// Headers of a hook that posts over HTTP.
const (
	hookIDHeader     = "Custos-Hook-Id"    // the same for the same event; made up when it is not there
	hookMarkerHeader = "Custos-Hook-Agent" // NAME:INSTANCE, as in CUSTOS_AGENT
)

// hookRoute is the route for CLIs that post their hooks over HTTP: the body is
// the payload, the answer what the hook prints. The caller's process and its
// ancestors are asked from the kernel.
func hookRoute(h Hooks) route {
	return route{"POST", "/v1/hooks/{kind}/{event}", anyone, small, func(s *server, req *http.Request, c Caller) (any, error) {
		p, err := httpPost(req, c)
		if err != nil {
			return nil, err
		}
		if s.Whose != nil {
			if err := s.Whose(c.PID, false, &p); err != nil {
				return nil, err
			}
		}
		output, err := h.Take(req.Context(), p)
		if err != nil {
			return nil, err
		}
		if output == "" {
			output = "{}"
		}
		return []byte(output), nil
	}, nil}
}

func httpPost(req *http.Request, c Caller) (hookwire.Post, error) {
	p := hookwire.Post{Kind: req.PathValue("kind"), Event: req.PathValue("event")}
	p.Stamp()
	p.CWD, p.PPIDs = "", hookwire.Ancestry(c.PID) // theirs, not the daemon's
	p.Agent, p.Instance = hookwire.Marker(req.Header.Get(hookMarkerHeader))
	if id := req.Header.Get(hookIDHeader); id != "" {
		p.ID = id
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return p, api.AsBadInput(fmt.Errorf("cannot read the hook's payload: %w", err))
	}
	p.SetPayload(body)
	if err := p.Check(); err != nil {
		return p, &api.Error{Kind: api.BadInput, Message: err.Error()}
	}
	return p, nil
}
