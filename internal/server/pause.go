package server

import (
	"context"
	"net/http"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// Pauses is the book of paused projects.
type Pauses interface {
	// Pause pauses a project, or resumes it, and has a pass judge what that
	// changes. A project that nobody knows, and one that is not paused and to be
	// resumed, are errors that wrap ledger.ErrIllegal.
	Pause(ctx context.Context, project string, resume bool, by, why string) error
}

func (s *server) pauseProject(req *http.Request, c Caller) (any, error) {
	var q api.PauseRequest
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	who := c.Name()
	if err := s.Pauses.Pause(req.Context(), q.Project, q.Resume, who, fleet.Line(fleet.Redact(q.Why), 200)); err != nil {
		return nil, control.Reasoned(err)
	}
	return api.Paused{Project: q.Project, Paused: !q.Resume, By: who}, nil
}
