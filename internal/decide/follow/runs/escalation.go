package runs

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// What decide calls the action that files a reply.
const doFileReply = "file-reply"

// replied looks for the reply that a run waits for.
func (a *advance) replied(r *fleet.Run) {
	if ledger.AwaitsReply(*r) && a.hasReply(r) {
		ledger.GoOn(r, "a person replied", a.at)
	}
}

func (a *advance) hasReply(r *fleet.Run) bool {
	facts := a.facts[r.ID]
	return facts != nil && facts.Reply.Or(false)
}

// refusedReply says why a reply that lies there is not taken; "" when there is none.
func (a *advance) refusedReply(r *fleet.Run) string {
	facts := a.facts[r.ID]
	if facts == nil || !ledger.AwaitsReply(*r) || facts.Reply.IsKnown() {
		return ""
	}
	return "; its reply is not taken: " + fleet.Line(facts.Reply.Why(), 200)
}

// unreadable gives a reply up that could not be taken: the run waits for a person
// again, with the question that it is an answer to.
func (a *advance) unreadable(r *fleet.Run, why string) {
	r.Session.Answer = ""
	r.Session.Answers--
	a.awaitPerson(r, "the reply could not be taken: "+fleet.Line(why, 200))
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

// closeReply settles the reply of a run that ended before its agent showed that it has
// it. What was taken out of the spool is filed; what was not is nobody's, and lies where
// the person wrote it.
func (a *advance) closeReply(r *fleet.Run) {
	s := r.Session
	if s == nil || !isFinal(r) || s.Answer != fleet.AnswerDue && s.Answer != fleet.AnswerSent {
		return
	}
	switch taken, known := a.wasTaken(r).Get(); {
	case !known:
	case taken:
		s.Answer = fleet.AnswerTold
	default:
		s.Answer, s.Answers = "", s.Answers-1
		r.Why = andAlso(r.Why, "no agent was told of the reply: nothing was left to do")
	}
}

// isFinal says whether a run is over, and no person can have it go on.
func isFinal(r *fleet.Run) bool {
	return r.State == fleet.RunDone || r.State == fleet.RunCancelled
}

// wasTaken says whether the newest reply was taken out of the spool, which making a
// prompt of it does first; not known while one may be made.
func (a *advance) wasTaken(r *fleet.Run) fleet.Leaf[bool] {
	s := r.Session
	// An action that is no longer on record was the one that this session waited for.
	taken := s.Answer == fleet.AnswerSent || s.Order == "" && r.Prepared != "" && a.records[r.Prepared] == nil
	for i := range a.past.Actions {
		rec := &a.past.Actions[i]
		switch {
		case !isPreparationOf(&rec.Action, r) || rec.Target.Step.Run.Session.Answers != s.Answers:
		case rec.Result == nil:
			return fleet.Unknown[bool]("its prompt is being made")
		case rec.Result.Status != fleet.ResultRefused && rec.Result.Status != fleet.ResultFailed:
			taken = true
		}
	}
	return fleet.Known(taken)
}
