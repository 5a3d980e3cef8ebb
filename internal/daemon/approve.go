package daemon

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/server"
)

var _ server.Approver = cycle{}

// Approve has done what one alert leads to. Without a daemon it looks first, and
// waits for what it began: this process ends with the command.
func (c cycle) Approve(ctx context.Context, of fleet.AlertKey, by string) ([]fleet.Action, error) {
	if err := c.s.begin(ctx); err != nil {
		if errors.Is(err, ErrHeld) {
			return nil, held(err)
		}
		return nil, err
	}
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	var begun []fleet.Action
	err := c.s.loop.Approve(ctx, of, by, func(actions []fleet.Action) ([]fleet.Message, error) {
		begun = actions
		return nil, nil
	})
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot approve: %v", err), Hint: "custos why " + of.Subject.String()}
	case err == nil && !c.s.daemon:
		err = c.s.actor.Wait(ctx)
	}
	return begun, err
}
