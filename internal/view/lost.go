package view

import (
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
)

// IsLost says whether a shim of ours has started what runs there, and no record knows
// of it: what was known of it is lost.
func IsLost(a fleet.Agent) bool {
	return a.Owner == fleet.OwnerUnknown && a.Instance != "" && !a.Registered && a.Process.PID != 0
}

// Adoptions propose to hand over what a lost past has started.
func Adoptions(s *fleet.Snapshot) (out []api.Hint) {
	if !s.Agents.Usable() {
		return nil
	}
	for _, a := range s.Agents.Value {
		if IsLost(a) {
			out = append(out, Adoption(a))
		}
	}
	return out
}

// Adoption proposes it of one agent.
func Adoption(a fleet.Agent) api.Hint {
	return api.Hint{Command: api.Typed("custos", "adopt", a.Name), What: "have Custos care for it again: what was known of it is lost"}
}

// lostFacts says what became of what was written down before; nothing while it is there.
func lostFacts(p fleet.Past) []string {
	if !p.Amnesia {
		return nil
	}
	return []string{"What was written down before is lost: " + fleet.Line(p.Lost, 300) + "."}
}

// WaitingFor are the orders about an agent that are not over.
func WaitingFor(p fleet.Past, agent string) (open []fleet.Order) {
	for _, o := range p.Orders {
		if o.Agent == agent && !o.IsOver() {
			open = append(open, o)
		}
	}
	return open
}

// orderFacts say what was ordered for an agent, and why it is not done yet.
func orderFacts(p fleet.Pass, agent string) (out []string) {
	for _, o := range WaitingFor(p.Past, agent) {
		line := fmt.Sprintf("Order %s, to %s it, by %s, is %s for %s", o.ID, o.Do, fleet.Line(o.By, 80), OrderState(o), Since(p.Snapshot.At, o.At))
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
