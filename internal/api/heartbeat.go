package api

import (
	"context"
	"time"
)

// Beat is the answer to a heartbeat of an agent.
type Beat struct {
	Agent string    `json:"agent"`
	At    time.Time `json:"at"`
}

// Beat notes that the agent that calls is at work.
func (c *Client) Beat(ctx context.Context) (Beat, error) {
	return post[Beat](ctx, c, same, "/v1/heartbeat", struct{}{})
}
