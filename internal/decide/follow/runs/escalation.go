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
