package daemon

import (
	"context"

	"custos/internal/agent/price"
	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/store"
)

// costs lists what models cost since a moment, added up by one of fleet.CostBys.
func (s *system) costs(ctx context.Context, since fleet.Instant, by string) ([]fleet.Cost, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Cost, error) { return st.Costs(ctx, since, by) })
}

// usageFaults lists what was told of responses since a moment and cannot be, or could not be read.
func (s *system) usageFaults(ctx context.Context, since fleet.Instant) ([]fleet.UsageFault, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.UsageFault, error) { return st.UsageFaults(ctx, since.Wall) })
}

// used lists what is written down of what each of these used.
func (s *system) used(ctx context.Context, by []fleet.UsedBy) ([]fleet.Used, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Used, error) { return st.UsageBy(ctx, by) })
}

// pricesShown is the price table in force.
func (s *system) pricesShown() api.Prices {
	out := api.Prices{Date: s.prices.Date, Prices: []api.ModelPrice{}}
	for _, row := range s.prices.Rows() {
		out.Prices = append(out.Prices, modelPrice(row, 0, row.Rates))
		for _, t := range row.Above {
			out.Prices = append(out.Prices, modelPrice(row, t.Tokens, t.Rates))
		}
	}
	return out
}

func modelPrice(row price.Row, above int64, r price.Rates) api.ModelPrice {
	return api.ModelPrice{Models: row.Models, Since: row.Since, Above: above, Input: r.Input, CacheRead: r.CacheRead, CacheWrite5m: r.CacheWrite5m, CacheWrite1h: r.CacheWrite1h, Output: r.Output, Table: row.Table}
}

// priced says whether the table knows a model now.
func (s *system) priced(model string) bool {
	_, known := s.prices.Find(model, s.world.Now().Wall)
	return known
}
