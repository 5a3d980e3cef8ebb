package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/store"
)

// agentBook is what agents tell of themselves as the port of control wants it.
type agentBook struct{ s *system }

var _ control.Agents = agentBook{}

// HandOver writes down what an agent hands over, and has a pass carry it on. It
// says whether a fresh one takes its place.
func (a agentBook) HandOver(ctx context.Context, agent, text, by string) (fleet.Registration, bool, error) {
	s := a.s
	none := fleet.Registration{}
	if err := s.begin(ctx); err != nil {
		return none, false, err
	}
	st, err := s.ledger.writer(ctx)
	if err != nil {
		return none, false, err
	}
	now := s.world.Now()
	reg, err := st.UpdateRegistration(ctx, agent, now, func(r fleet.Registration) (fleet.Registration, error) {
		return ledger.HandOver(r, text, by, now)
	})
	if errors.Is(err, store.ErrNotFound) {
		return none, false, fmt.Errorf("cannot find agent %s: %w", fleet.Line(agent, 80), fs.ErrNotExist)
	}
	if err != nil {
		return none, false, err
	}
	s.loop.Wake("a hand-off")
	return reg, a.Replaced(reg), nil
}

// Replaced says whether custos.toml has an agent replaced by a fresh one, once it
// has handed over. Without a daemon nobody does that.
func (a agentBook) Replaced(r fleet.Registration) bool { return a.s.daemon && a.s.handoff.Covers(r) }
