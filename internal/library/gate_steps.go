package library

import (
	"custos/internal/fleet"
	"custos/internal/formula"
)

// gateOf is the gate of a step as the ledger keeps it. What it waits for is one
// text in a formula, whatever the type.
func gateOf(g formula.Gate) fleet.Gate {
	out := fleet.Gate{Type: fleet.GateType(g.Type), Timeout: fleet.Duration(g.Timeout), When: g.Condition, From: g.From, To: g.To, Subject: g.Subject}
	switch out.Type {
	case fleet.GateEvent:
		out.On = g.ID
	case fleet.GateRun:
		out.Run = g.ID
	case fleet.GatePull:
		out.Of = fleet.Ref(g.ID)
	default:
		out.Title = fleet.Line(g.ID, 200)
	}
	return out
}
