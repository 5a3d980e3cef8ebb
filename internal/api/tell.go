package api

import "context"

// Tell is a message to people.
type Tell struct {
	From     string `json:"from,omitempty"`     // who says it, for people; an agent is named by itself
	Text     string `json:"text"`               // at most 16 KiB
	Priority string `json:"priority,omitempty"` // P0 to P4; P2 by default, which is what routes carry by default
}

// Telling is the answer to a Tell.
type Telling struct {
	By       string `json:"by"`
	Priority string `json:"priority"`
	Subject  string `json:"subject"` // its first line, as people see it
	// To names the notifiers that deliver it; none: it reaches only who reads the
	// daemon's terminal and the journal.
	To []string `json:"to"`
	// Failing are those of them that have not taken what they were told before, each with why:
	// "phone: cannot read …". It waits until they do.
	Failing []string `json:"failing,omitempty"`
	// Waits says why nothing is sent now, though it is written down; "" when it is sent.
	Waits string `json:"waits,omitempty"`
}

// Tell notifies people, as the routes of custos.toml say.
func (c *Client) Tell(ctx context.Context, t Tell) (Telling, error) {
	return post[Telling](ctx, c, once, "/v1/tell", t)
}
