package view

import (
	"custos/internal/api"
	"custos/internal/fleet"
)

// AddCost adds what models cost to a sum.
func AddCost(r *api.CostRow, c fleet.Cost) {
	r.Calls += int(c.Calls)
	r.Tokens += c.Tokens
	r.Dollars += Dollars(c.MicroUSD)
	r.Unpriced += int(c.Unpriced)
}
