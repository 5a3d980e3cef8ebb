package daemon

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
)

var _ control.Mover = cycle{}

// Move has work closed where it is kept, or opened again. Without a daemon it looks
// first, and waits for what it began: this process ends with the command.
func (c cycle) Move(ctx context.Context, ref fleet.Ref, do, why, by string) (*fleet.Action, error) {
	if err := c.s.begin(ctx); err != nil {
		return nil, err
	}
	if !c.s.daemon {
		c.s.board.First(ctx)
	}
	begun, err := c.s.loop.Ask(ctx, by, func(past fleet.Past, snap fleet.Snapshot) (*fleet.Finding, error) {
		return ledger.MoveElsewhere(past, snap, ref, do, why, by)
	}, ledger.MovedIn(ref)...)
	switch {
	case errors.Is(err, loop.ErrNothingOffered):
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot %s %s: %v", do, ref, err), Hint: "custos work show " + string(ref)}
	case err != nil || len(begun) == 0:
		return nil, err
	case !c.s.daemon:
		err = c.s.actor.Wait(ctx)
	}
	return &begun[0], err
}
