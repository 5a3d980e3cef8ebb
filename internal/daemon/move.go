package daemon

import (
	"context"
	"errors"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/loop"
)

var _ control.Asker = cycle{}

// Ask begins what is asked for. Without a daemon it looks first, and waits for what it
// began: this process ends with the command.
func (c cycle) Ask(ctx context.Context, by string, what func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error), rests ...fleet.PartName) (*fleet.Action, error) {
	if err := c.s.begin(ctx); err != nil {
		return nil, err
	}
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	begun, err := c.s.loop.Ask(ctx, by, what, rests...)
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return nil, control.Refusal{Why: err}
	case err != nil || len(begun) == 0:
		return nil, err
	case !c.s.daemon:
		err = c.s.actor.Wait(ctx)
	}
	return &begun[0], err
}
