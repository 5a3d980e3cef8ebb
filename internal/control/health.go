package control

import (
	"context"
	"fmt"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

func (c *Control) status(ctx context.Context, call Call) (any, error) {
	out := c.Status(ctx)
	return out, c.addFailed(ctx, &out)
}

func (c *Control) health(ctx context.Context, call Call) (any, error) {
	maxAge := view.PassLate
	if text := call.Ask("max_age"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot read max_age %q: want a time like 2m", fleet.Line(text, 40))}
		}
		if d > 0 {
			maxAge = d
		}
	}
	return view.Health(c.Vitals(ctx), c.Now(), maxAge), nil
}
