package api

import (
	"context"
	"fmt"
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

// Words say what was granted.
func (g Granted) Words() string {
	what := g.Agent
	if g.Once {
		what = "one call of " + what
	}
	return fmt.Sprintf("Rule %s does not count for %s until %s UTC.", g.Rule, what, g.Until.UTC().Format("2006-01-02 15:04"))
}

// Grant has a rule of its policy not count for an agent for a while.
func (c *Client) Grant(ctx context.Context, o GrantOrder) (Granted, error) {
	return post[Granted](ctx, c, once, "/v1/grants", o)
}
