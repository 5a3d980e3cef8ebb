package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/store"
)

// agentPort is what agents tell of themselves as the port of control wants it.
type agentPort struct{ s *system }

var _ control.Agents = agentPort{}

// Change changes the record of an agent, and has a pass go on from there.
func (a agentPort) Change(ctx context.Context, agent string, change func(fleet.Registration) (fleet.Registration, error)) (fleet.Registration, error) {
	if err := a.s.begin(ctx); err != nil {
		return fleet.Registration{}, err
	}
	st, err := a.s.ledger.writer(ctx)
	if err != nil {
		return fleet.Registration{}, err
	}
	reg, err := st.UpdateRegistration(ctx, agent, a.s.world.Now(), change)
	if errors.Is(err, store.ErrNotFound) {
		return reg, fmt.Errorf("cannot find agent %s: %w", fleet.Line(agent, 80), fs.ErrNotExist)
	}
	if err == nil {
		a.s.loop.Wake("the record of an agent changed")
	}
	return reg, err
}

// Replaced says whether custos.toml has an agent replaced by a fresh one, once it
// has handed over. Without a daemon nobody does that.
func (a agentPort) Replaced(r fleet.Registration) bool { return a.s.daemon && a.s.handoff.Covers(r) }
