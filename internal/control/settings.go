package control

import (
	"context"

	"custos/internal/api"
)

// Settings tells what is in force, without secrets.
type Settings func(context.Context) api.Settings

func (c *Control) settings(ctx context.Context, _ Call) (any, error) {
	return c.Settings(ctx), nil
}
