package view

import (
	"cmp"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Costs shows what models cost: days in their order, all else the dearest first. What belongs to
// none is one row.
func Costs(list []fleet.Cost, faults []fleet.UsageFault, since fleet.Instant, by string) api.Costs {
	out := api.Costs{Since: since.Wall.UTC(), By: by, Rows: []api.CostRow{}}
	var total fleet.Cost
	for _, c := range list {
		total.Add(c)
		c.Key = cmp.Or(fleet.Line(c.Key, 200), fleet.CostOfNone)
		out.Rows = append(out.Rows, Cost(c))
	}
	for _, f := range faults {
		out.Faults = append(out.Faults, api.CostFault{Kind: f.Kind, Why: f.Why, At: f.At, Key: fleet.Line(f.Key, 200), More: f.More, AtLeast: f.AtLeast})
	}
	total.Key = "total"
	out.Total = Cost(total)
	if by != "day" {
		slices.SortStableFunc(out.Rows, func(a, b api.CostRow) int {
			return cmp.Or(cmp.Compare(b.Dollars, a.Dollars), cmp.Compare(b.Tokens, a.Tokens))
		})
	}
	return out
}

// Cost shows one sum.
func Cost(c fleet.Cost) api.CostRow {
	return api.CostRow{Key: c.Key, Calls: int(c.Calls), Tokens: c.Tokens, Cached: c.Cached, Output: c.Output, Dollars: Dollars(c.Told + c.Table),
		Told: Dollars(c.Told), Table: Dollars(c.Table), Unpriced: int(c.Unpriced)}
}

// OfCustos adds up, of costs by formula, what models cost on behalf of Custos: its judge, and its formulas.
func OfCustos(list []fleet.Cost) (sum fleet.Cost) {
	for _, c := range list {
		if c.Key != "" {
			sum.Add(c)
		}
	}
	sum.Key = "total"
	return sum
}
