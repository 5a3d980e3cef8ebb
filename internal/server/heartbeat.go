package server

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// heartbeat notes that the calling agent is at work. It is its own word, so nobody
// else may give it: a person who looks at it, or another agent, is no sign of its life.
func (s *server) heartbeat(req *http.Request, c Caller) (any, error) {
	if s.AgentOf == nil || s.Beat == nil {
		return nil, &api.Error{Kind: api.Forbidden, Message: "cannot note a heartbeat: nobody here tells agents from people"}
	}
	name, err := s.AgentOf(req.Context(), c)
	switch {
	case err != nil:
		return nil, &api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("cannot note a heartbeat of process %d: it cannot be told which agent it is: %v", c.PID, err)}
	case name == "":
		return nil, &api.Error{Kind: api.Forbidden, Message: "cannot note a heartbeat: only an agent gives one, for itself", Hint: "custos ps"}
	}
	name = strings.TrimPrefix(name, control.Marked)
	at, err := s.Beat(req.Context(), name)
	if err != nil {
		return nil, err
	}
	return api.Beat{Agent: name, At: at.Wall.UTC()}, nil
}

// promised reads what a spawn says of a heartbeat; nil when it says nothing.
func promised(q api.SpawnRequest) (*fleet.Heartbeat, error) {
	if q.Heartbeat == "" {
		if q.Grace != "" {
			return nil, fmt.Errorf("a grace of %q is for a heartbeat, and it has none", fleet.Line(q.Grace, 40))
		}
		return nil, nil
	}
	every, err := time.ParseDuration(q.Heartbeat)
	if err != nil || every <= 0 {
		return nil, fmt.Errorf("a heartbeat every %q makes no sense: want a time like 10m", fleet.Line(q.Heartbeat, 40))
	}
	grace := every / 2
	if q.Grace != "" {
		if grace, err = time.ParseDuration(q.Grace); err != nil || grace < 0 {
			return nil, fmt.Errorf("a grace of %q makes no sense: want a time like 5m", fleet.Line(q.Grace, 40))
		}
	}
	return &fleet.Heartbeat{Every: fleet.Duration(every), Grace: fleet.Duration(grace)}, nil
}
