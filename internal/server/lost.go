package server

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/view"
)

// unlessForgotten is the error of a read of what is written down, unless all of it is
// lost: what is seen is told then all the same, and that there is no more.
func unlessForgotten(p fleet.Past, err error) error {
	if p.Amnesia {
		return nil
	}
	return err
}

// lostFacts says what became of what was written down before; nothing while it is there.
func lostFacts(p fleet.Past) []string {
	if !p.Amnesia {
		return nil
	}
	return []string{"What was written down before is lost: " + fleet.Line(p.Lost, 300) + "."}
}

// waitingFor are the orders about an agent that are not over.
func waitingFor(p fleet.Past, agent string) (open []fleet.Order) {
	for _, o := range p.Orders {
		if o.Agent == agent && !o.IsOver() {
			open = append(open, o)
		}
	}
	return open
}

// orderFacts say what was ordered for an agent, and why it is not done yet.
func orderFacts(p fleet.Pass, agent string) (out []string) {
	for _, o := range waitingFor(p.Past, agent) {
		line := fmt.Sprintf("Order %s, to %s it, by %s, is %s for %s", o.ID, o.Do, fleet.Line(o.By, 80), view.OrderState(o), view.Since(p.Snapshot.At, o.At))
		if o.Why != "" {
			line += ": " + o.Why
		}
		if !o.Until.IsZero() {
			line += ", not before " + o.Until.Wall.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		out = append(out, line+".")
	}
	return out
}
