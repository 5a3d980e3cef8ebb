package runs

import (
	"fmt"
	"strconv"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// held says whether a step whose needs are done waits for its gate, or failed with it.
func (a *advance) held(r *fleet.Run, s *fleet.RunStep) bool {
	if !ledger.IsHeld(s) {
		return false
	}
	if s.Awaits == "" {
		s.Awaits = fmt.Sprintf("run/%s/%s/%s", r.ID, s.ID, strconv.FormatInt(int64(a.at.Up), 36))
	}
	g := a.gate(s.Awaits)
	switch {
	case g == nil:
		a.wait("step %s waits for its gate, which is being made", s.ID)
		a.hold(r, s, a.lastWait(fleet.GuardGate))
	case !g.Over():
		a.wait("step %s waits for gate %s (%s)", s.ID, g.ID, g.Type)
		a.hold(r, s, a.lastWait(fleet.GuardGate))
	case g.Outcome == fleet.GatePassed:
		s.Awaits = ledger.GatePassed
		return false
	default:
		s.Awaits = ""
		ledger.SetStep(s, fleet.StepFailed, fleet.Line(fmt.Sprintf("gate %s %s: %s", g.ID, g.Outcome, g.Why), 300), a.at)
		dependents(r, a.at)
	}
	return true
}

func (a *advance) gate(key string) *fleet.Gate {
	for i := range a.past.Records.Gates {
		if g := &a.past.Records.Gates[i]; g.Key == key {
			return g
		}
	}
	return nil
}
