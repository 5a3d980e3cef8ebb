package ledger

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// What decide calls the action that files a reply.
const doFileReply = "file-reply"

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
	goOn(&run, fleet.Line(by, 60)+" replied", at)
	run.State, run.Why = fleet.RunOpen, ""
	return run, nil
}

// goOn lets a run go on: another session of it is told what the person said.
func goOn(r *fleet.Run, why string, at fleet.Instant) {
	for i := range r.Steps {
		if s := &r.Steps[i]; isEscalated(*s) {
			setStep(s, fleet.StepWaiting, why, at)
		}
	}
	dueReply(r.Session)
}

func dueReply(s *fleet.RunSession) {
	s.Answers, s.Answer, s.Filing = s.Answers+1, fleet.AnswerDue, ""
}

// replied looks for the reply that a run waits for.
func (a *advance) replied(r *fleet.Run) {
	if AwaitsReply(*r) && a.hasReply(r) {
		goOn(r, "a person replied", a.at)
	}
}

func (a *advance) hasReply(r *fleet.Run) bool {
	facts := a.facts[r.ID]
	return facts != nil && facts.Reply.Or(false)
}

// refusedReply says why a reply that lies there is not taken; "" when there is none.
func (a *advance) refusedReply(r *fleet.Run) string {
	facts := a.facts[r.ID]
	if facts == nil || !AwaitsReply(*r) || facts.Reply.IsKnown() {
		return ""
	}
	return "; its reply is not taken: " + fleet.Line(facts.Reply.Why(), 200)
}

// unreadable gives a reply up that could not be taken: the run waits for a person
// again.
func (a *advance) unreadable(r *fleet.Run, why string) {
	r.Session.Answer = ""
	r.Session.Answers--
	a.escalate(r, "the reply could not be taken: "+fleet.Line(why, 200))
}

// told notes that the agent has the reply: it acknowledged its prompt, which holds
// it, or it tells of its work.
func (a *advance) told(r *fleet.Run) {
	s := r.Session
	if s == nil || s.Answer != fleet.AnswerSent {
		return
	}
	reg := a.regs[s.Agent]
	got := reg != nil && reg.Run == r.ID && reg.PromptState == fleet.DeliveryAcknowledged
	if got || s.Phase != "" || slices.ContainsFunc(r.Steps, func(step fleet.RunStep) bool { return step.By == fleet.ByAgent(s.Agent) }) {
		s.Answer = fleet.AnswerTold
	}
}

// filed follows the action that files a reply.
func (a *advance) filed(r *fleet.Run) {
	s := r.Session
	if s == nil || s.Answer != fleet.AnswerTold {
		return
	}
	planned := false
	for i := range a.plan.Actions {
		if do := &a.plan.Actions[i]; do.Do == doFileReply && do.Target.Step != nil && do.Target.Step.Run.ID == r.ID {
			s.Filing, planned = do.ID, true
		}
	}
	switch rec := a.records[s.Filing]; {
	case planned || rec != nil && rec.Result == nil:
	case rec != nil && (rec.Result.Status == fleet.ResultDone || rec.Result.Status == fleet.ResultUnneeded):
		s.Answer, s.Filing = "", ""
	default:
		s.Filing = ""
	}
}
