package ledger

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// What a run may hold at most.
const (
	mostSteps    = 500
	mostAttempts = 100
	longestRunID = 70   // bytes: it is part of orders' IDs and of folders' names
	longestNote  = 2000 // bytes of what is reported of a step
)

// TakeRun returns a run as it is first written down: every step waiting, or, for a
// formula that a person switched off, skipped as a whole and over. It is refused
// with ErrTaken when its ID is known or a run of the same formula and project is
// not over yet, and with ErrIllegal when it makes no sense by itself.
func TakeRun(past fleet.Past, policy fleet.RunPolicy, run fleet.Run, at fleet.Instant) (fleet.Run, error) {
	fail := func(err error) (fleet.Run, error) {
		return fleet.Run{}, fmt.Errorf("cannot run formula %s: %w", fleet.Line(run.Formula, 80), err)
	}
	if err := checkRun(run); err != nil {
		return fail(err)
	}
	for _, r := range past.Runs {
		switch {
		case r.ID == run.ID:
			return fail(fmt.Errorf("the ID %s is %w", run.ID, ErrTaken))
		case !r.IsOver() && r.Flight() == run.Flight():
			return fail(fmt.Errorf("its place is %w: run %s is %s", ErrTaken, r.ID, r.State))
		}
	}
	run = begun(run, at)
	if slices.Contains(policy.Disabled, run.Formula) {
		SkipRun(&run, "formula "+run.Formula+" is disabled", at)
	}
	return run, nil
}

// begun returns a run with nothing done of it.
func begun(run fleet.Run, at fleet.Instant) fleet.Run {
	run = run.Clone()
	run.At, run.State, run.Why, run.Prepared, run.Cancel, run.Revision = at, fleet.RunOpen, "", "", "", 0
	run.EndedAt, run.Lapsed = fleet.Instant{}, fleet.Instant{}
	for i := range run.Steps {
		s := &run.Steps[i]
		s.State, s.Since, s.Attempt = fleet.StepWaiting, at, 0
	}
	if run.Session != nil && run.Session.Agent == "" {
		run.Session.Agent = run.ID
	}
	return run
}

// checkRun says whether a run makes sense by itself: its ID sound, its steps
// named once, with needs that are there and in no circle, and something to do.
func checkRun(run fleet.Run) error {
	switch {
	case !IsPlainID(run.ID) || len(run.ID) > longestRunID:
		return fmt.Errorf("%w: its ID %q must be 1 to %d letters, digits, '.', '_' and '-', and begin with a letter or digit", ErrIllegal, fleet.Line(run.ID, 80), longestRunID)
	case run.Formula == "":
		return fmt.Errorf("%w: it names no formula", ErrIllegal)
	case run.By == "":
		return fmt.Errorf("%w: nobody asks", ErrIllegal)
	case !path.IsAbs(run.Dir):
		return fmt.Errorf("%w: its folder %q is no absolute path", ErrIllegal, fleet.Line(run.Dir, 80))
	case len(run.Steps) == 0 || len(run.Steps) > mostSteps:
		return fmt.Errorf("%w: it has %d steps, of 1 to %d", ErrIllegal, len(run.Steps), mostSteps)
	case run.Parallel < 0:
		return fmt.Errorf("%w: %d steps at once", ErrIllegal, run.Parallel)
	case !slices.Contains([]fleet.RunMode{fleet.RunSteps, fleet.RunInTmux, fleet.RunHeadless}, run.Mode):
		return fmt.Errorf("%w: there is no mode %q", ErrIllegal, fleet.Line(string(run.Mode), 40))
	}
	return checkSteps(run.Steps)
}

func checkSteps(steps []fleet.RunStep) error {
	known := map[string]bool{}
	for _, s := range steps {
		if s.ID == "" || known[s.ID] {
			return fmt.Errorf("%w: step %q has no name of its own", ErrIllegal, fleet.Line(s.ID, 80))
		}
		known[s.ID] = true
		if err := checkStep(s); err != nil {
			return err
		}
	}
	for _, s := range steps {
		for _, n := range s.Needs {
			if !known[n] {
				return fmt.Errorf("%w: step %s needs %q, which is no step", ErrIllegal, s.ID, fleet.Line(n, 80))
			}
		}
	}
	return checkCircle(steps)
}

func checkStep(s fleet.RunStep) error {
	switch {
	case s.Do != fleet.StepRun && s.Do != fleet.StepUses && s.Do != fleet.StepProse:
		return fmt.Errorf("%w: step %s is neither run, uses nor prose", ErrIllegal, s.ID)
	case s.Do == fleet.StepRun && (len(s.Argv) == 0) == (s.Script == ""):
		return fmt.Errorf("%w: step %s must have a command line or a script, and not both", ErrIllegal, s.ID)
	case s.Retries < 0 || s.Retries > mostAttempts:
		return fmt.Errorf("%w: step %s has %d retries, of 0 to %d", ErrIllegal, s.ID, s.Retries, mostAttempts)
	case s.Timeout < 0 || s.Backoff < 0:
		return fmt.Errorf("%w: step %s has a negative time", ErrIllegal, s.ID)
	}
	return nil
}

// checkCircle removes steps whose needs are removed until none is left, or none
// can go.
func checkCircle(steps []fleet.RunStep) error {
	gone := map[string]bool{}
	for left := len(steps); left > 0; {
		before := left
		for _, s := range steps {
			if !gone[s.ID] && !slices.ContainsFunc(s.Needs, func(n string) bool { return !gone[n] }) {
				gone[s.ID] = true
				left--
			}
		}
		if left == before {
			i := slices.IndexFunc(steps, func(s fleet.RunStep) bool { return !gone[s.ID] })
			return fmt.Errorf("%w: step %s needs itself, by way of others", ErrIllegal, steps[i].ID)
		}
	}
	return nil
}

// IsPlainID says whether an ID can be a folder's name anywhere, and no option.
func IsPlainID(id string) bool {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	return id != "" && plain(rune(id[0])) && strings.IndexFunc(id, func(c rune) bool { return !plain(c) && !strings.ContainsRune("._-", c) }) < 0
}

// CancelRun returns the run as one that a person cancelled: what was not begun is
// skipped, and what runs is to be ended. It is over when nothing of it is left,
// which a pass sees. To cancel it twice changes nothing.
func CancelRun(run fleet.Run, by string, at fleet.Instant) (fleet.Run, error) {
	switch {
	case !fleet.IsPerson(by):
		return run, fmt.Errorf("cannot cancel run %s: %w: it takes a person", run.ID, ErrIllegal)
	case run.Cancel != "" || run.State == fleet.RunCancelled:
		return run, nil
	case run.IsOver():
		return run, fmt.Errorf("cannot cancel run %s: %w: it is %s", run.ID, ErrIllegal, run.State)
	}
	run = run.Clone()
	EndRun(&run, by, "cancelled by "+fleet.Line(by, 60), at)
	return run, nil
}

// EndRun has what was begun of a run ended, and skips the rest, because a person says so.
func EndRun(run *fleet.Run, by, why string, at fleet.Instant) {
	run.Cancel, run.Why = by, why
	for i := range run.Steps {
		switch s := &run.Steps[i]; {
		case s.IsOver():
		case s.Do == fleet.StepRun && s.State == fleet.StepRunning:
			s.End = why
		default:
			SetStep(s, fleet.StepSkipped, why, at)
		}
	}
}

// SkipRun ends a run of which nothing was begun.
func SkipRun(run *fleet.Run, why string, at fleet.Instant) {
	for i := range run.Steps {
		SetStep(&run.Steps[i], fleet.StepSkipped, why, at)
	}
	run.State, run.Why, run.EndedAt = fleet.RunSkipped, why, at
}

// SetStep moves a step into a state. To say the same again changes nothing.
func SetStep(s *fleet.RunStep, to fleet.StepState, why string, at fleet.Instant) {
	if s.State != to {
		s.State, s.Since = to, at
	}
	s.Why = why
}
