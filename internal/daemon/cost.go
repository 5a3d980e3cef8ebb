package daemon

import (
	"context"

	"custos/internal/fleet"
	"custos/internal/store"
	"custos/internal/view"
)

// costs lists what models cost since a moment.
func (s *system) costs(ctx context.Context, since fleet.Instant) ([]view.Cost, error) {
	list, err := recall(ctx, s.ledger, func(st *store.Store) ([]store.Cost, error) { return st.Costs(ctx, since) })
	out := make([]view.Cost, 0, len(list))
	for _, c := range list {
		out = append(out, view.Cost{Day: c.Day, Formula: c.Formula, Alert: fleet.Line(c.Alert, 200), Calls: int(c.Calls), Tokens: c.Tokens,
			MicroUSD: c.MicroUSD, Unpriced: int(c.Unpriced)})
	}
	return out, err
}
