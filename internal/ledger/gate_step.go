package ledger

import (
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
)

// A step of a formula waits for its gate in three passes: the run notes that the
// step awaits one, the gate is written down, and what it comes to is the step's.

// StepGate is the gate of a step as it is first written down. A formula was checked
// when it was read; what still makes no sense is a gate that a person sees, and
// closes.
func StepGate(r *fleet.Run, s *fleet.RunStep, at fleet.Instant) fleet.Gate {
	g := *s.Gate
	g.Head = fleet.Head{Key: s.Awaits}
	g.Step, g.Project, g.Timeout = r.ID+"/"+s.ID, r.Project, 0
	if g.Title == "" {
		g.Title = fmt.Sprintf("step %s of run %s", s.ID, r.ID)
	}
	limit := at.Add(time.Duration(s.Gate.Timeout))
	switch {
	case s.Gate.Timeout <= 0:
	case g.Type == fleet.GateTimer:
		g.Until = limit
	default:
		g.Due = limit
	}
	g.State, g.By, g.At, g.Since = fleet.GateOpen, fleet.ByCustos, at, at
	return g
}

// GatePassed is what a step awaits whose gate passed.
const GatePassed = "passed"

// IsHeld says whether a step may not begin before its gate has passed.
func IsHeld(s *fleet.RunStep) bool {
	return s.Gate != nil && s.State == fleet.StepWaiting && s.Awaits != GatePassed
}

// CheckStepGate says what is wrong with the gate of a step of a formula.
func CheckStepGate(g fleet.Gate) error {
	at := fleet.Instant{Wall: time.Unix(1, 0), Up: 1}
	made := StepGate(&fleet.Run{ID: "run"}, &fleet.RunStep{ID: "step", Gate: &g}, at)
	if g.Type == fleet.GateTimer && g.Timeout <= 0 {
		return errors.New("a timer gate needs a timeout")
	}
	return checkGate(made, at)
}
