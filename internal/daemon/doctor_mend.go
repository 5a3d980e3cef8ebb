package daemon

import (
	"context"
	"errors"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/server"
)

var _ server.Mender = cycle{}

// Mending is what some alerts lead to in a pass.
func (c cycle) Mending(p fleet.Pass, of []fleet.AlertKey) fleet.Plan { return loop.Mending(p, of) }

// Mend has it done. While frozen it does not even open the ledger to write.
func (c cycle) Mend(ctx context.Context, by string, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error) {
	if why := Frozen(c.s.cfg); why != "" {
		return fleet.Pass{}, &api.Error{Kind: api.BadInput, Message: "cannot mend: frozen: " + why, Hint: "custos thaw"}
	}
	err := c.s.begin(ctx)
	switch {
	case errors.Is(err, ErrHeld):
		return fleet.Pass{}, held(err)
	case err != nil:
		return fleet.Pass{}, err
	}
	return c.s.loop.Mend(ctx, fleet.PatrolOrder{Apply: true, By: by}, of, meant)
}
