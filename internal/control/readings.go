package control

import (
	"cmp"
	"context"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// Readings lists what the machine was like since a moment, oldest first.
type Readings func(ctx context.Context, since fleet.Instant) ([]fleet.Reading, error)

func (c *Control) readings(ctx context.Context, call Call) (any, error) {
	now := c.Now()
	since, err := sinceOf(cmp.Or(call.Ask("since"), "6h"), now)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	list, err := c.Readings(ctx, since)
	if err != nil {
		return nil, err
	}
	return view.Readings(list, since, now), nil
}
