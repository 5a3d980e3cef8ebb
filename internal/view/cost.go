package view

import "custos/internal/api"

// Cost is what models cost on one day for one formula or one alert.
type Cost struct {
	Day      string // "2006-01-02", UTC
	Formula  string
	Alert    string // rule and subject
	Calls    int
	Tokens   int64
	MicroUSD int64
	Unpriced int // calls whose price is not known
}

func AddCost(r *api.CostRow, c Cost) {
	r.Calls += c.Calls
	r.Tokens += c.Tokens
	r.Dollars += Dollars(c.MicroUSD)
	r.Unpriced += c.Unpriced
}
