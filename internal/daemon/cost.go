package daemon

import (
	"context"

	"custos/internal/fleet"
	"custos/internal/store"
)

// costs lists what models cost since a moment.
func (s *system) costs(ctx context.Context, since fleet.Instant) ([]fleet.Cost, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Cost, error) { return st.Costs(ctx, since) })
}
