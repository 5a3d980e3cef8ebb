package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// handOver takes what an agent hands over to the one that takes its place. An
// agent writes its own; a person may for any, by name.
func (s *server) handOver(req *http.Request, c Caller) (any, error) {
	var r api.HandoffRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	by, err := s.handsOver(req, c, &r)
	if err != nil {
		return nil, err
	}
	if len(r.Text) > fleet.LongestHandoff {
		return nil, api.AsBadInput(fmt.Errorf("cannot take a hand-off of %d bytes: %d are the most; put the rest into a file and say where it is", len(r.Text), fleet.LongestHandoff))
	}
	reg, replaced, err := s.HandOver(req.Context(), r.Agent, strings.TrimSpace(fleet.Redact(fleet.Text(r.Text))), by)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknownAgent(r.Agent)
	}
	if err != nil {
		return nil, control.Illegal(err)
	}
	return handoffView(reg, replaced), nil
}

// handsOver says who gives a hand-off, and whose it is.
func (s *server) handsOver(req *http.Request, c Caller, r *api.HandoffRequest) (string, error) {
	agent := ""
	if s.AgentOf != nil {
		var err error
		if agent, err = s.AgentOf(req.Context(), c); err != nil {
			return "", &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot take a hand-off of process %d: it cannot be told which agent it is: %v", c.PID, err)}
		}
	}
	agent = strings.TrimPrefix(agent, control.Marked)
	switch {
	case agent == "" && r.Agent == "":
		return "", api.AsBadInput(errors.New("cannot take a hand-off of nobody: name the agent"))
	case agent == "":
		return c.Name(), nil
	case r.Agent != "" && r.Agent != agent:
		return "", &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot take a hand-off of %q: agent %s hands over for itself only", fleet.Line(r.Agent, 80), agent)}
	}
	r.Agent = agent
	return fleet.ByAgent(agent), nil
}

// handoff says how far the hand-off of an agent is.
func (s *server) handoff(req *http.Request, _ Caller) (any, error) {
	name := req.PathValue("name")
	reg, err := s.registration(req.Context(), name)
	if err != nil {
		return nil, err
	}
	if reg == nil {
		return nil, unknownAgent(name)
	}
	return handoffView(*reg, s.Replaced != nil && s.Replaced(*reg)), nil
}

func unknownAgent(name string) error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find a registered agent %q", fleet.Line(name, 80)), Hint: "custos ps"}
}

func handoffView(r fleet.Registration, replaced bool) api.Handoff {
	out := api.Handoff{Agent: r.Name, Replaced: replaced}
	if h := r.Handoff; h != nil {
		out.Stage, out.Since, out.Why, out.Instance = string(h.Stage), h.Since.Wall.UTC(), h.Why, h.Instance
		out.Next, out.By, out.Text = h.Next, h.By, h.Text
	}
	return out
}
