package control

import (
	"context"

	"custos/internal/api"
	"custos/internal/fleet"
)

// projects are paused and resumed by a person.
func projects() Noun {
	return Noun{"projects", []Verb{{Name: "pause", Access: Person, Do: given((*Control).pauseProject)}}}
}

// Pauses is the book of paused projects.
type Pauses interface {
	// Pause pauses a project, or resumes it, and has a pass judge what that
	// changes. A project that is not known, and one that is not paused and to be
	// resumed, are errors that wrap ledger.ErrIllegal.
	Pause(ctx context.Context, project string, resume bool, by, why string) error
}

func (c *Control) pauseProject(ctx context.Context, call Call, q api.PauseRequest) (api.Paused, error) {
	err := c.Pauses.Pause(ctx, q.Project, q.Resume, call.By, fleet.Line(fleet.Redact(q.Why), 200))
	return api.Paused{Project: q.Project, Paused: !q.Resume, By: call.By}, Reasoned(err)
}
