package daemon

import (
	"context"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/server"
)

var _ server.Mender = cycle{}

// mendWait is how long a look may take before what was not seen is left unseen.
const mendWait = 90 * time.Second

// Mending looks and plans.
func (c cycle) Mending(ctx context.Context, of []fleet.AlertKey) (fleet.Plan, error) {
	c.lookAgain(of)
	p, err := c.s.loop.Look(ctx, mendWait, fleet.PatrolOrder{Apply: true, By: "you"})
	if err != nil {
		return fleet.Plan{}, err
	}
	return loop.Mending(p, of), nil
}

// lookAgain has what the alerts are about looked at once more: checks read files as
// they are now, and a daemon saw them half a minute ago.
func (c cycle) lookAgain(of []fleet.AlertKey) {
	var parts []fleet.PartName
	for _, k := range of {
		if part := fleet.PartOf(k.Subject.Kind); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	c.s.board.Touched(parts...)
}

// Mend has it done. While frozen it does not even open the ledger to write.
func (c cycle) Mend(ctx context.Context, by string, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error) {
	if why := Frozen(c.s.cfg); why != "" {
		return fleet.Pass{}, &api.Error{Kind: api.BadInput, Message: "cannot mend: frozen: " + why, Hint: "custos thaw"}
	}
	if err := c.s.begin(ctx); err != nil {
		return fleet.Pass{}, err
	}
	c.lookAgain(of)
	return c.s.loop.Mend(ctx, fleet.PatrolOrder{Apply: true, By: by}, of, meant)
}
