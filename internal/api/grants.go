package api

import (
	"context"
	"time"
)

// GrantOrder is a person's word that a rule of its policy does not count for an agent.
type GrantOrder struct {
	Agent string `json:"agent"`
	Rule  string `json:"rule"`
	Once  bool   `json:"once,omitempty"` // for one call, within that time
	For   string `json:"for,omitempty"`  // a duration; an hour where it is not said, a day at most
	Why   string `json:"why,omitempty"`
}

// Granted is the answer to a GrantOrder.
type Granted struct {
	Agent string    `json:"agent"`
	Rule  string    `json:"rule"`
	Once  bool      `json:"once,omitempty"`
	Until time.Time `json:"until"`
	By    string    `json:"by"`
}

// Grant has a rule of its policy not count for an agent for a while.
func (c *Client) Grant(ctx context.Context, o GrantOrder) (Granted, error) {
	return post[Granted](ctx, c, once, "/v1/grants", o)
}
