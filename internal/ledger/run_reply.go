package ledger

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// AwaitsReply says whether a run waits for a person's reply: its agent asked for one
// by PHASE:escalate, no other is under way, and no other session works meanwhile.
func AwaitsReply(r fleet.Run) bool {
	s := r.Session
	return !r.IsOver() && r.Cancel == "" && s != nil && s.Answer == "" && s.End != "" && slices.ContainsFunc(r.Steps, isEscalated)
}

// isEscalated says whether the agent left a step to a person.
func isEscalated(s fleet.RunStep) bool { return s.Do == fleet.StepProse && s.State == fleet.StepPerson }

// ReplyRun returns the run as it goes on with a person's reply, which lies in the
// first of its ReplyFiles.
func ReplyRun(run fleet.Run, by string, at fleet.Instant) (fleet.Run, error) {
	fail := func(format string, args ...any) (fleet.Run, error) {
		return run, fmt.Errorf("cannot reply to run %s: %w: %s", run.ID, ErrIllegal, fmt.Sprintf(format, args...))
	}
	switch {
	case !fleet.IsPerson(by):
		return fail("it takes a person")
	case run.IsOver() || run.Cancel != "":
		return fail("it is %s", run.State)
	case run.Session != nil && (run.Session.Answer == fleet.AnswerDue || run.Session.Answer == fleet.AnswerSent):
		return fail("its agent has not got the reply before yet")
	case run.Session != nil && run.Session.End == "" && slices.ContainsFunc(run.Steps, isEscalated):
		return fail("agent %s works on its other steps now", run.Session.Agent)
	case !AwaitsReply(run):
		return fail("its agent asked nothing")
	}
	run = run.Clone()
	GoOn(&run, fleet.Line(by, 60)+" replied", at)
	run.State, run.Why = fleet.RunOpen, ""
	return run, nil
}

// GoOn lets a run go on: another session of it is told what the person said.
func GoOn(r *fleet.Run, why string, at fleet.Instant) {
	for i := range r.Steps {
		if s := &r.Steps[i]; isEscalated(*s) {
			SetStep(s, fleet.StepWaiting, why, at)
		}
	}
	DueReply(r.Session)
}

// DueReply notes that a person's reply is to be told to the next session.
func DueReply(s *fleet.RunSession) {
	s.Answers, s.Answer, s.Filing = s.Answers+1, fleet.AnswerDue, ""
}
