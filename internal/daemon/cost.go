package daemon

import (
	"context"

	"custos/internal/fleet"
	"custos/internal/store"
)

// costs lists what models cost since a moment, added up by one of fleet.CostBys.
func (s *system) costs(ctx context.Context, since fleet.Instant, by string) ([]fleet.Cost, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Cost, error) { return st.Costs(ctx, since, by) })
}
