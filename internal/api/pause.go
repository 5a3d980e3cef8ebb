package api

import "context"

// PauseRequest pauses a project, or resumes it.
type PauseRequest struct {
	Project string `json:"project"`
	Resume  bool   `json:"resume,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Paused is the answer to a PauseRequest.
type Paused struct {
	Project string `json:"project"`
	Paused  bool   `json:"paused"`
	By      string `json:"by"`
}

// Pause pauses or resumes a whole project.
func (c *Client) Pause(ctx context.Context, q PauseRequest) (Paused, error) {
	again := same
	if q.Resume {
		again = once // of one that is not paused any more it is refused
	}
	return post[Paused](ctx, c, again, "/v1/projects", q)
}
