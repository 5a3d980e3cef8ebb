package api

import (
	"context"
	"net/url"
	"time"
)

// HandoffRequest is what an agent hands over to the one that takes its place.
type HandoffRequest struct {
	Agent string `json:"agent,omitempty"` // the agent that calls by default; a person names it
	Text  string `json:"text"`            // at most 64 KiB
}

// Handoff is how far an agent is on its way to a fresh one in its place.
type Handoff struct {
	Agent    string    `json:"agent"`
	Stage    string    `json:"stage"` // asked, late, written, saving, stopping, starting, done or failed; empty when it is not
	Since    time.Time `json:"since"`
	Why      string    `json:"why,omitempty"`
	Instance string    `json:"instance,omitempty"` // that hands over
	Next     string    `json:"next,omitempty"`     // that took over
	By       string    `json:"by,omitempty"`       // who wrote the text
	Text     string    `json:"text,omitempty"`
	Replaced bool      `json:"replaced"` // custos.toml has it replaced by a fresh one; else the text is kept, and nothing follows
}

// HandOver gives Custos what the next agent must know.
func (c *Client) HandOver(ctx context.Context, r HandoffRequest) (Handoff, error) {
	return post[Handoff](ctx, c, once, "/v1/handoff", r)
}

// Handoff says how far the hand-off of an agent is.
func (c *Client) Handoff(ctx context.Context, agent string) (Handoff, error) {
	return get[Handoff](ctx, c, "/v1/agents/"+url.PathEscape(agent)+"/handoff")
}
