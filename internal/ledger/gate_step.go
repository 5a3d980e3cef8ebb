package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"custos/internal/fleet"
)

// A step of a formula waits for its gate in three passes: the run notes that the
// step awaits one, the gate is written down, and what it comes to is the step's.

// stepGates makes the gates that steps await and that there are not yet. It returns
// the keys of all that are awaited.
func (c *coordinate) stepGates() map[string]bool {
	known := map[string]bool{}
	for i := range c.past.Records.Gates {
		known[c.past.Records.Gates[i].Key] = true
	}
	awaited := map[string]bool{}
	for i := range c.past.Runs {
		r := &c.past.Runs[i]
		for j := range r.Steps {
			s := &r.Steps[j]
			if r.IsOver() || r.Cancel != "" || !isHeld(s) || s.Awaits == "" {
				continue
			}
			awaited[s.Awaits] = true
			if !known[s.Awaits] {
				c.out.Records.Gates = append(c.out.Records.Gates, stepGate(r, s, c.at))
			}
		}
	}
	return awaited
}

// stepGate is the gate of a step as it is first written down. A formula was checked
// when it was read; what still makes no sense is a gate that a person sees, and
// closes.
func stepGate(r *fleet.Run, s *fleet.RunStep, at fleet.Instant) fleet.Gate {
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

// gatePassed is what a step awaits whose gate passed.
const gatePassed = "passed"

// isHeld says whether a step may not begin before its gate has passed.
func isHeld(s *fleet.RunStep) bool {
	return s.Gate != nil && s.State == fleet.StepWaiting && s.Awaits != gatePassed
}

// held says whether a step whose needs are done waits for its gate, or failed with it.
func (a *advance) held(r *fleet.Run, s *fleet.RunStep) bool {
	if !isHeld(s) {
		return false
	}
	if s.Awaits == "" {
		s.Awaits = fmt.Sprintf("run/%s/%s/%s", r.ID, s.ID, strconv.FormatInt(int64(a.at.Up), 36))
	}
	g := a.gate(s.Awaits)
	switch {
	case g == nil:
		a.wait("step %s waits for its gate, which is being made", s.ID)
	case !g.Over():
		a.wait("step %s waits for gate %s (%s)", s.ID, g.ID, g.Type)
	case g.Outcome == fleet.GatePassed:
		s.Awaits = gatePassed
		return false
	default:
		s.Awaits = ""
		setStep(s, fleet.StepFailed, fleet.Line(fmt.Sprintf("gate %s %s: %s", g.ID, g.Outcome, g.Why), 300), a.at)
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

// CheckStepGate says what is wrong with the gate of a step of a formula.
func CheckStepGate(g fleet.Gate) error {
	at := fleet.Instant{Wall: time.Unix(1, 0), Up: 1}
	made := stepGate(&fleet.Run{ID: "run"}, &fleet.RunStep{ID: "step", Gate: &g}, at)
	if g.Type == fleet.GateTimer && g.Timeout <= 0 {
		return errors.New("a timer gate needs a timeout")
	}
	return checkGate(made, at)
}
