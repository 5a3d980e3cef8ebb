package api

import "context"

// FreezeRequest stops every action until a ThawRequest.
type FreezeRequest struct {
	Why string `json:"why,omitempty"`
}

// Brake is what custos freeze and custos thaw answer.
type Brake struct {
	Frozen bool   `json:"frozen"`
	By     string `json:"by,omitempty"`  // who froze it
	Why    string `json:"why,omitempty"` // and why
	Was    string `json:"was,omitempty"` // of a thaw: who had frozen it and why; "" when it was not frozen
}

// Freeze has the daemon stop every action.
func (c *Client) Freeze(ctx context.Context, why string) (Brake, error) {
	return post[Brake](ctx, c, same, "/v1/freeze", FreezeRequest{Why: why})
}

// Thaw has the daemon act again.
func (c *Client) Thaw(ctx context.Context) (Brake, error) {
	return post[Brake](ctx, c, once, "/v1/thaw", nil)
}
