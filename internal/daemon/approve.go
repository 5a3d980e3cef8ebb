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

// Deny has done what is done instead.
func (c cycle) Deny(ctx context.Context, of fleet.AlertKey, by string, consent func(denied, instead []fleet.Action) ([]fleet.Message, error)) error {
	return c.answer(ctx, func() error { return c.s.loop.Deny(ctx, of, by, consent) })
}

// Approve has done what one alert leads to.
func (c cycle) Approve(ctx context.Context, of fleet.AlertKey, by string, consent func([]fleet.Action) ([]fleet.Message, error)) error {
	return c.answer(ctx, func() error { return c.s.loop.Approve(ctx, of, by, consent) })
}

// answer has a person's answer acted on. Without a daemon it looks first, and waits for what
// it began: this process ends with the command.
func (c cycle) answer(ctx context.Context, begin func() error) error {
	if err := c.s.begin(ctx); err != nil {
		return err
	}
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	err := begin()
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return control.Refusal{Why: err}
	case err == nil && !c.s.daemon:
		err = c.s.actor.Wait(ctx)
	}
	return err
}
