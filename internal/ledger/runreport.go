package ledger

import (
	"fmt"

	"custos/internal/fleet"
)

// ReportStep returns the run with what somebody says became of a step that is
// worked on outside of Custos: prose, or what waits for a person. to is StepDone
// or StepFailed. The agent that works on the run may report its prose; a person,
// any of it. The same report twice changes nothing; another one is refused with
// ErrTaken.
func ReportStep(run fleet.Run, step string, to fleet.StepState, note, by string, at fleet.Instant) (fleet.Run, error) {
	fail := func(err error) (fleet.Run, error) {
		return run, fmt.Errorf("cannot report step %s of run %s: %w", fleet.Line(step, 80), run.ID, err)
	}
	if to != fleet.StepDone && to != fleet.StepFailed {
		return fail(fmt.Errorf("%w: it is either done or failed", ErrIllegal))
	}
	was := run.Step(step)
	if was == nil {
		return fail(fmt.Errorf("%w: there is no such step", ErrIllegal))
	}
	if was.By == by && was.State == to {
		return run, nil
	}
	if err := mayReport(run, was, by); err != nil {
		return fail(err)
	}
	run = run.Clone()
	s := run.Step(step)
	SetStep(s, to, "", at)
	s.By, s.Note = by, fleet.Text(clipped(note))
	if to == fleet.StepFailed {
		s.Why = "reported by " + fleet.Line(by, 80)
	}
	if run.Session != nil {
		run.Session.MovedAt, run.Session.Looks = at, 0
	}
	return run, nil
}

func clipped(note string) string { return note[:min(len(note), longestNote)] }

func mayReport(run fleet.Run, s *fleet.RunStep, by string) error {
	name, agent := fleet.AgentOf(by)
	switch {
	case !agent && !fleet.IsPerson(by):
		return fmt.Errorf("%w: nobody reports it", ErrIllegal)
	case agent && (run.Session == nil || run.Session.Agent != name):
		return fmt.Errorf("%w: agent %s does not work on it", ErrIllegal, fleet.Line(name, 80))
	case run.IsOver():
		return fmt.Errorf("%w: the run is %s", ErrIllegal, run.State)
	case run.Cancel != "":
		return fmt.Errorf("%w: the run was cancelled by %s", ErrIllegal, run.Cancel)
	case s.By != "" && s.IsOver():
		return fmt.Errorf("it is %w: %s reported it as %s", ErrTaken, fleet.Line(s.By, 80), s.State)
	case s.IsOver():
		return fmt.Errorf("%w: it is %s", ErrIllegal, s.State)
	case s.Do != fleet.StepProse && s.State == fleet.StepPerson:
		return fmt.Errorf("%w: it is in doubt: custos formula resume %s --step %s --as done|again", ErrIllegal, run.ID, fleet.Line(s.ID, 80))
	case s.Do != fleet.StepProse:
		return fmt.Errorf("%w: Custos itself does it", ErrIllegal)
	case agent && s.State == fleet.StepPerson:
		return fmt.Errorf("%w: it waits for a person", ErrIllegal)
	case agent && IsHeld(s):
		return fmt.Errorf("%w: its gate has not passed", ErrIllegal)
	}
	if need := StepsOf(&run).Unmet(s); need != "" {
		return fmt.Errorf("%w: it needs step %s, which is not done", ErrIllegal, need)
	}
	return nil
}

// How a person answers for a step.
const (
	ResumeAgain = "again" // it is begun anew
	ResumeDone  = "done"  // it was done
)

// ResumeRun returns the run as it goes on after a person answered for one of its
// steps that failed, or waits for a person; for all of them when step is empty.
// What was skipped for its sake waits again. all are the runs that are known: when
// another of the same flight is not over, the answer is ErrTaken.
func ResumeRun(all []fleet.Run, run fleet.Run, step, as, by string, at fleet.Instant) (fleet.Run, error) {
	fail := func(err error) (fleet.Run, error) {
		return run, fmt.Errorf("cannot resume run %s: %w", run.ID, err)
	}
	switch {
	case !fleet.IsPerson(by):
		return fail(fmt.Errorf("%w: it takes a person", ErrIllegal))
	case as != ResumeAgain && as != ResumeDone:
		return fail(fmt.Errorf("%w: a step is either %s or %s, not %q", ErrIllegal, ResumeAgain, ResumeDone, fleet.Line(as, 40)))
	case run.Cancel != "" || run.State == fleet.RunDone || run.State == fleet.RunSkipped:
		return fail(fmt.Errorf("%w: it is %s", ErrIllegal, run.State))
	case step != "" && run.Step(step) == nil:
		return fail(fmt.Errorf("%w: there is no step %q", ErrIllegal, fleet.Line(step, 80)))
	}
	for _, r := range all {
		if r.ID != run.ID && !r.IsOver() && r.Flight() == run.Flight() {
			return fail(fmt.Errorf("its place is %w: run %s is %s", ErrTaken, r.ID, r.State))
		}
	}
	is := run.Clone()
	if !answerFor(&is, step, as, by, at) {
		return fail(fmt.Errorf("%w: no such step failed or waits for a person", ErrIllegal))
	}
	is.State, is.Why, is.EndedAt = fleet.RunOpen, "", fleet.Instant{}
	return is, nil
}

func answerFor(run *fleet.Run, step, as, by string, at fleet.Instant) (any bool) {
	for i := range run.Steps {
		s := &run.Steps[i]
		if s.State != fleet.StepFailed && s.State != fleet.StepPerson || step != "" && s.ID != step {
			continue
		}
		any = true
		s.Note, s.By, s.End, s.NotBefore = "", "", "", fleet.Instant{}
		if as == ResumeDone {
			SetStep(s, fleet.StepDone, "", at)
			s.By = by
			continue
		}
		SetStep(s, fleet.StepWaiting, "begun again by "+fleet.Line(by, 60), at)
	}
	for i := range run.Steps {
		if s := &run.Steps[i]; any && s.State == fleet.StepSkipped {
			SetStep(s, fleet.StepWaiting, "", at)
		}
	}
	return any
}
