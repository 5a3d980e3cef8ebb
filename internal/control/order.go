package control

import (
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// CheckOrder says whether an order makes sense by itself. One that makes an agent gives it no
// name that is read as a person's, as Custos' or as an address; people are who may give orders here.
func CheckOrder(o fleet.Order, people ...string) error {
	if o.Do != fleet.OrderSpawn && o.Do != fleet.OrderAdopt {
		return ledger.CheckOrder(o)
	}
	if err := ledger.CheckNewName(o.Agent, people...); err != nil {
		return api.AsBadInput(fmt.Errorf("cannot %s %q: %s", o.Do, fleet.Line(o.Agent, 80), Reason(err.Error())))
	}
	return ledger.CheckOrder(o)
}
