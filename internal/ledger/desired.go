package ledger

import (
	"fmt"

	"custos/internal/fleet"
)

// SetDesired returns r with what is wanted of it changed.
//
//   - Retired is for ever.
//   - What a person wants is changed by a person; only draining ends by itself
//     in stopped. So a person's stop stays until a person starts the agent.
//   - What was stopped is not paused or drained: it would run again afterwards.
//   - An agent may drain or stop itself, and nobody else.
//
// To want what is wanted already is lawful for everybody, and changes nothing but
// when a person wanted it last.
func SetDesired(r fleet.Registration, to fleet.Desired, by string, at fleet.Instant) (fleet.Registration, error) {
	if err := maySet(r, to, by); err != nil {
		return r, fmt.Errorf("cannot set %s to %s: %w", shown(r.Name), to, err)
	}
	if r.Desired == to && !fleet.IsPerson(by) {
		return r, nil
	}
	r.Desired, r.DesiredBy, r.DesiredAt, r.DesiredFor = to, by, at, ""
	return r, nil
}

func maySet(r fleet.Registration, to fleet.Desired, by string) error {
	from, person := r.Desired, fleet.IsPerson(by)
	switch {
	case !isDesired(to):
		return fmt.Errorf("%w: there is no such wish", ErrIllegal)
	case by == "":
		return fmt.Errorf("%w: nobody asks", ErrIllegal)
	case from == to:
		return nil
	case from == fleet.DesiredRetired:
		return fmt.Errorf("%w: it is retired", ErrIllegal)
	case from == fleet.DesiredStopped && (to == fleet.DesiredPaused || to == fleet.DesiredDraining):
		return fmt.Errorf("%w: it is stopped", ErrIllegal)
	case person:
		return nil
	}
	if name, agent := fleet.AgentOf(by); agent && (name != r.Name || to != fleet.DesiredStopped && to != fleet.DesiredDraining) {
		return fmt.Errorf("%w: it takes a person", ErrIllegal)
	}
	switch {
	case from == fleet.DesiredDraining && to == fleet.DesiredStopped:
		return nil
	case to == fleet.DesiredRetired:
		return fmt.Errorf("%w: it takes a person", ErrIllegal)
	case from != fleet.DesiredRunning && fleet.IsPerson(r.DesiredBy):
		return fmt.Errorf("%w: %s wants it %s", ErrIllegal, r.DesiredBy, from)
	}
	return nil
}

func isDesired(d fleet.Desired) bool {
	switch d {
	case fleet.DesiredRunning, fleet.DesiredStopped, fleet.DesiredPaused, fleet.DesiredDraining, fleet.DesiredRetired:
		return true
	}
	return false
}

// PauseAccount pauses r with its whole account, when it runs; others stay as
// they are.
func PauseAccount(r fleet.Registration, by string, at fleet.Instant) fleet.Registration {
	if r.Account == "" || r.Desired != fleet.DesiredRunning {
		return r
	}
	paused, err := SetDesired(r, fleet.DesiredPaused, by, at)
	if err != nil {
		return r
	}
	paused.DesiredFor = forAccount(r.Account)
	return paused
}

// ResumeAccount resumes r when it was paused with its account: one that was
// paused by itself stays paused.
func ResumeAccount(r fleet.Registration, by string, at fleet.Instant) fleet.Registration {
	if r.Desired != fleet.DesiredPaused || r.DesiredFor != forAccount(r.Account) {
		return r
	}
	resumed, err := SetDesired(r, fleet.DesiredRunning, by, at)
	if err != nil {
		return r
	}
	return resumed
}

// LiftLimit returns r with the word of a person that no rate limit told until now
// holds. Nobody else may say so: an account that is at its limit answers nobody.
func LiftLimit(r fleet.Registration, by string, at fleet.Instant) fleet.Registration {
	if fleet.IsPerson(by) {
		r.LimitLifted = at
	}
	return r
}

func forAccount(name string) string { return "account/" + name }
