package daemon

import (
	"context"
	"errors"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/loop"
)

var _ control.Approver = cycle{}

// Offer is what an approval would begin. Without a daemon it looks first.
func (c cycle) Offer(ctx context.Context, of fleet.AlertKey, by string) (actions []fleet.Action, refused string, err error) {
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	_, o, err := c.s.loop.Offer(ctx, of, by)
	return o.Actions, o.Refused, err
}

// Approve has done what one alert leads to. Without a daemon it looks first, and
// waits for what it began: this process ends with the command.
func (c cycle) Approve(ctx context.Context, of fleet.AlertKey, by string, consent func([]fleet.Action) ([]fleet.Message, error)) error {
	if err := c.s.begin(ctx); err != nil {
		return err
	}
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	err := c.s.loop.Approve(ctx, of, by, consent)
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return control.Refusal{Why: err}
	case err == nil && !c.s.daemon:
		err = c.s.actor.Wait(ctx)
	}
	return err
}
