package api

import (
	"context"
	"net/url"
)

// Receivers are where people are told: a section [notifier.NAME] of custos.toml each.
type Receivers struct {
	Receivers []Receiver `json:"receivers"`
}

// Receiver is how one of them stands.
type Receiver struct {
	Name    string `json:"name"`
	Barred  string `json:"barred,omitempty"`  // why nothing sent there arrives, as the place itself says
	Waiting string `json:"waiting,omitempty"` // how long the oldest of what did not arrive has been tried: "2m0s"
	Why     string `json:"why,omitempty"`     // why the last try failed
	Proof   string `json:"proof,omitempty"`   // how long ago something arrived there: "1h0m0s"; empty: nothing has yet
}

// Tried is what came of a test message: the receiver has taken it. Whether a person has seen
// it nobody here knows.
type Tried struct {
	To   string `json:"to"`
	Took string `json:"took"` // how long that took: "310ms"
}

// Receivers lists where people are told.
func (c *Client) Receivers(ctx context.Context) (Receivers, error) {
	return get[Receivers](ctx, c, "/v1/receivers")
}

// Try sends a test message to one receiver, at once and whatever the routes say. An error says
// why it was not taken.
func (c *Client) Try(ctx context.Context, receiver string) (Tried, error) {
	return post[Tried](ctx, c, once, "/v1/receivers/"+url.PathEscape(receiver)+"/try", struct{}{})
}
