package api

import (
	"context"
	"time"
)

// Trigger is something that happened outside.
type Trigger struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Text string    `json:"text,omitempty"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// TriggerRequest says that something happened. Of a long text 4 KiB are kept.
type TriggerRequest struct {
	Key  string `json:"key,omitempty"` // the same key again is the same event
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

// Trigger says that something happened: what waits for trigger:NAME goes on.
func (c *Client) Trigger(ctx context.Context, r TriggerRequest) (Trigger, error) {
	return post[Trigger](ctx, c, keyed(r.Key), "/v1/triggers", r)
}
