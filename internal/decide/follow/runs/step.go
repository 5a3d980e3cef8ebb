package runs

import (
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Times of steps, unless they say.
const (
	stepTimeout = fleet.Duration(time.Hour)
	stepBackoff = fleet.Duration(10 * time.Second)
	mostBackoff = fleet.Duration(time.Hour)
)

// sawSteps notes what became of the steps that run, and which this pass begins.
func (a *advance) sawSteps(r *fleet.Run) {
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.State == fleet.StepReady && s.Do == fleet.StepRun:
			a.impossible(s)
		case s.State != fleet.StepRunning:
		case s.Do == fleet.StepUses:
			a.used(r, s)
		case s.Do == fleet.StepRun:
			a.saw(r, s)
		}
	}
	a.started(r) // last: what was seen was seen before it
}

// impossible fails a step that no pass can begin, for want of something that Custos
// itself needs: to wait for that would be to wait for ever.
func (a *advance) impossible(s *fleet.RunStep) {
	can := a.policy.Abilities[doRunStep]
	if can.Cannot == "" {
		return
	}
	why := "it cannot be begun here: " + can.Cannot
	if can.Needs != "" {
		why += " (" + can.Needs + ")"
	}
	ledger.SetStep(s, fleet.StepFailed, fleet.Line(why, 300), a.at)
}

// started marks the steps whose start this pass plans. It is committed with the
// plan, so that an attempt is on record before its process can be.
func (a *advance) started(r *fleet.Run) {
	for i := range a.plan.Actions {
		do := &a.plan.Actions[i]
		t := do.Target.Step
		if do.Do != doRunStep || t == nil || t.Run.ID != r.ID {
			continue
		}
		s := r.Step(t.Step)
		if s == nil || s.State != fleet.StepReady || t.Attempt != s.Attempt+1 {
			continue
		}
		ledger.SetStep(s, fleet.StepRunning, "", a.at)
		s.Attempt, s.Action = t.Attempt, do.ID
		s.End, s.Exit, s.Output, s.NotBefore, s.Tests = "", nil, "", fleet.Instant{}, fleet.TestReport{}
	}
}

// saw settles a running step by what is seen of this very attempt.
func (a *advance) saw(r *fleet.Run, s *fleet.RunStep) {
	f := a.attempt(r, s)
	if f == nil {
		a.wait("step %s runs; it is not seen now", s.ID)
		return
	}
	if f.Output != "" {
		s.Output = f.Output
	}
	switch f.State {
	case fleet.ProcNone:
		a.unbegun(r, s)
	case fleet.ProcRunning:
		a.limit(s)
	case fleet.ProcEnded, fleet.ProcInDoubt, fleet.ProcFailed:
		a.ended(r, s, f)
	default:
		a.wait("what step %s does cannot be told: %s", s.ID, f.Why)
	}
}

func (a *advance) attempt(r *fleet.Run, s *fleet.RunStep) *fleet.StepFacts {
	facts := a.facts[r.ID]
	if facts == nil {
		return nil
	}
	for i := range facts.Steps {
		if f := &facts.Steps[i]; f.Step == s.ID && f.Attempt == s.Attempt {
			return f
		}
	}
	return nil
}

// limit asks for the end of a step that takes too long.
func (a *advance) limit(s *fleet.RunStep) {
	if s.End != "" {
		a.wait("step %s is being ended: %s", s.ID, s.End)
		return
	}
	if limit := timeoutOf(s); a.out.Passed(a.at, s.Since, time.Duration(limit)) {
		s.End = endTimeout + limit.String()
		return
	}
	a.wait("step %s runs", s.ID)
}

const (
	endTimeout = "it took longer than "
	endLeft    = "it ended and left processes behind"
)

func timeoutOf(s *fleet.RunStep) fleet.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return stepTimeout
}

// unbegun is about an attempt of which it is certain that nothing was started:
// its action is still to come, or it came to nothing.
func (a *advance) unbegun(r *fleet.Run, s *fleet.RunStep) {
	rec := a.records[s.Action]
	switch {
	case rec != nil && rec.Open():
		a.wait("step %s is about to begin", s.ID)
	case rec != nil && rec.Result != nil && a.snap.Runs.At.Before(rec.Result.Ended):
		// The look may be from before the process began: it says nothing of what the action did.
		a.wait("step %s has not been looked at since its action ended", s.ID)
	case s.End != "":
		a.settle(r, s, s.End)
	case rec != nil && rec.Result != nil && rec.Result.Status == fleet.ResultFailed:
		a.settle(r, s, rec.Result.Why)
	case rec != nil && rec.Result != nil && (rec.Result.Status == fleet.ResultDone || rec.Result.Status == fleet.ResultUnverified):
		a.doubt(s, "its action says that it began, and there is no trace of it")
	default: // held back at the last instant, or lost in a crash before it began: no attempt
		s.Attempt--
		a.again(s, "it was held back: "+whyOf(rec))
	}
}

func whyOf(rec *fleet.ActionRecord) string {
	if rec == nil || rec.Result == nil || rec.Result.Why == "" {
		return "Custos ended before it began"
	}
	return rec.Result.Why
}

// again lets a step begin once more, later.
func (a *advance) again(s *fleet.RunStep, why string) {
	pause := s.Backoff
	if pause <= 0 {
		pause = stepBackoff
	}
	for i := 1; i < s.Attempt && pause < mostBackoff; i++ {
		pause *= 2
	}
	ledger.SetStep(s, fleet.StepWaiting, fleet.Line(why, 300), a.at)
	s.End, s.Action, s.NotBefore = "", "", a.at.Add(time.Duration(min(pause, mostBackoff)))
}

// ended settles an attempt that is over, once nothing of it is left.
func (a *advance) ended(r *fleet.Run, s *fleet.RunStep, f *fleet.StepFacts) {
	if len(f.Left) > 0 {
		if s.End == "" {
			s.End = endLeft
		}
		a.wait("step %s is being ended: %s", s.ID, s.End)
		return
	}
	status, known := f.Status.Get()
	signal, killed := f.Signal.Get()
	if s.Tests = f.Tests; known {
		s.Exit = &status
	}
	gentle := s.End == "" || s.End == endLeft
	switch {
	case r.Cancel != "" || f.State != fleet.ProcInDoubt && !gentle:
		a.settle(r, s, s.End)
	case f.State == fleet.ProcFailed:
		a.settle(r, s, "it could not be started: "+f.Why)
	case f.State == fleet.ProcInDoubt || !known && !killed:
		a.doubt(s, f.Why)
	case killed:
		a.settle(r, s, fmt.Sprintf("it ended by signal %d", signal))
	case status != 0:
		a.settle(r, s, fmt.Sprintf("it ended with exit status %d", status))
	default:
		ledger.SetStep(s, fleet.StepDone, ledger.InSpiteOf(s.Tests), a.at)
		s.End = ""
	}
}

// settle is about an attempt that failed for certain.
func (a *advance) settle(r *fleet.Run, s *fleet.RunStep, why string) {
	if r.Cancel == "" && s.Attempt <= s.Retries {
		a.again(s, fmt.Sprintf("attempt %d failed: %s", s.Attempt, why))
		return
	}
	ledger.SetStep(s, fleet.StepFailed, fleet.Line(why, 300), a.at)
	s.End = ""
}

// doubt is about an attempt that was started, and nobody saw how it ended. Only
// what may be repeated is.
func (a *advance) doubt(s *fleet.RunStep, why string) {
	if why == "" {
		why = "nobody saw how it ended"
	}
	if s.Safe {
		a.again(s, fmt.Sprintf("attempt %d is in doubt: %s", s.Attempt, why))
		return
	}
	if s.Moot {
		ledger.SetStep(s, fleet.StepFailed, fleet.Line("in doubt: "+why, 300), a.at)
		s.End = ""
		return
	}
	ledger.SetStep(s, fleet.StepPerson, fleet.Line("in doubt: "+why, 300), a.at)
	s.End = ""
}
